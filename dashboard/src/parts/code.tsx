// SPDX-License-Identifier: Apache-2.0
// A program's files, alone or against others.
import { useEffect, useRef, useState } from "preact/hooks";
import type { SourceFile } from "../api";

function fileOf(files: SourceFile[], path: string): string {
  return files.find((file) => file.path === path)?.text ?? "";
}

interface Props { files: SourceFile[]; before?: SourceFile[]; beforeName?: string; name: string }

/** Unified where there is no room for two columns. */
export function Code({ files, before, beforeName, name }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const [path, setPath] = useState(files[0]?.path ?? "");
  const [beside, setBeside] = useState(innerWidth >= 1100);
  useEffect(() => {
    if (!host.current) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    let take = () => {};
    let current = true;
    void import("./editor").then(({ showCode }) => {
      if (current) take = showCode(root, { text: fileOf(files, path), name, before: before && fileOf(before, path), beforeName, beside });
    });
    return () => { current = false; take(); };
  }, [files, before, path, beside]);
  if (files.length === 0) return <p class="soft">There is no program: the answer had none.</p>;
  return (
    <div class="code">
      <div class="bar">
        {files.length > 1 && (
          <label>File <select value={path} onChange={(event) => setPath((event.target as HTMLSelectElement).value)}>
            {files.map((file) => <option key={file.path} value={file.path}>{file.path}</option>)}
          </select></label>
        )}
        {before && <span class="soft">{beforeName} → {name}</span>}
        <span class="grow" />
        {before && <button type="button" onClick={() => setBeside(!beside)}>{beside ? "One column" : "Side by side"}</button>}
      </div>
      <div class="editor" ref={host} />
    </div>
  );
}
