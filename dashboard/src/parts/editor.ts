// SPDX-License-Identifier: Apache-2.0
// Editors for code, loaded when there is some to show. They live in a shadow root: there CodeMirror adds its styles without
// <style> elements, which the server's policy forbids.
import { cpp } from "@codemirror/lang-cpp";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const highlight = HighlightStyle.define([
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.controlKeyword, tags.modifier], color: "var(--kernel)" },
  { tag: [tags.string, tags.character], color: "var(--good)" },
  { tag: [tags.number, tags.bool], color: "var(--collective)" },
  { tag: [tags.typeName, tags.className], color: "var(--type)" },
  { tag: tags.processingInstruction, color: "var(--copy)" },
]);

const look = EditorView.theme({
  "&": { fontSize: "12.5px", backgroundColor: "var(--card)", color: "var(--ink)" },
  ".cm-scroller": { fontFamily: "ui-monospace, SFMono-Regular, Menlo, monospace", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "var(--card)", color: "var(--soft)", border: "none" },
  ".cm-changedLine": { backgroundColor: "var(--added) !important" },
  ".cm-deletedChunk, &.cm-merge-a .cm-changedLine": { backgroundColor: "var(--removed) !important" },
  ".cm-changedText, .cm-deletedChunk .cm-deletedText": { background: "none !important" },
  ".cm-insertedLine, .cm-deletedLine, .cm-insertedLine *, .cm-deletedLine *": { textDecoration: "none !important" },
  ".cm-collapsedLines": { color: "var(--soft)", background: "var(--line) !important", padding: "4px 10px" },
  ".cm-collapsedLines::before, .cm-collapsedLines::after": { content: "none" },
});

const shared = (label: string): Extension => [
  lineNumbers(), cpp(), syntaxHighlighting(highlight), look, EditorState.readOnly.of(true),
  EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": "true", tabindex: "0" }),
];

export interface Shown { text: string; name: string; before?: string; beforeName?: string; beside: boolean }

/** Puts an editor into the root; returns how to take it away. */
export function showCode(root: ShadowRoot, shown: Shown): () => void {
  const { text, name, before, beforeName, beside } = shown;
  const folding = { collapseUnchanged: { margin: 3, minSize: 6 }, gutter: false };
  if (before === undefined) {
    const view = new EditorView({ doc: text, extensions: shared(name), parent: root, root });
    return () => view.destroy();
  }
  if (beside) {
    const view = new MergeView({
      a: { doc: before, extensions: shared(beforeName ?? "before") }, b: { doc: text, extensions: shared(name) },
      parent: root, root, ...folding,
    });
    return () => view.destroy();
  }
  const view = new EditorView({
    doc: text, parent: root, root,
    extensions: [shared(name), unifiedMergeView({ original: before, mergeControls: false, ...folding })],
  });
  return () => view.destroy();
}
