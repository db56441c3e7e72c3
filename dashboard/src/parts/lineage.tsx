// SPDX-License-Identifier: Apache-2.0
// How a candidate came about: its ancestors from left to right, and beside each step what else was tried from there.
import { useMemo, useRef } from "preact/hooks";
import type { Candidate } from "../api";
import { count, factor, speedup } from "../format";
import { designParts } from "./grid";

const COLUMN = 244, ROW = 54, WIDTH = 200, HEIGHT = 46, MOST = 6;

interface Node { candidate: Candidate; x: number; y: number; on: boolean; parent?: Node }
interface Tree { columns: Node[][]; left: { x: number; y: number; number: number; of: number }[]; width: number; height: number }

/** The path to `number`; brothers and sisters of each step, the fastest first, and the last one's children. */
export function treeOf(list: Candidate[], number: number): Tree {
  const path: Candidate[] = [];
  const seen = new Set<number>();
  for (let at: number | null = number; at !== null && list[at] && !seen.has(at); at = list[at]!.parent) {
    seen.add(at);
    path.unshift(list[at]!);
  }
  const children = new Map<number, Candidate[]>(path.map((one) => [one.number, []]));
  for (const one of list) if (one.parent !== null && one.parent !== one.number && !seen.has(one.number)) children.get(one.parent)?.push(one);
  const tree: Tree = { columns: [], left: [], width: 0, height: 0 };
  let parent: Node | undefined;
  for (let step = 0; step <= path.length; step++) {
    const others = parent ? children.get(parent.candidate.number)!.sort((a, b) => (speedup(b) ?? 0) - (speedup(a) ?? 0)) : [];
    const row = [...(path[step] ? [path[step]!] : []), ...others.slice(0, MOST)];
    const x = step * COLUMN;
    const nodes: Node[] = row.map((candidate, index) => ({
      candidate, x, y: (path[step] ? index : index + 1) * ROW, on: candidate === path[step], parent }));
    if (nodes.length === 0) break;
    tree.columns.push(nodes);
    let bottom = nodes[nodes.length - 1]!.y + HEIGHT;
    if (others.length > MOST) {
      tree.left.push({ x, y: bottom + 4, number: others.length - MOST, of: parent!.candidate.number });
      bottom += 26;
    }
    tree.width = x + WIDTH;
    tree.height = Math.max(tree.height, bottom);
    parent = nodes.find((node) => node.on);
    if (!parent) break;
  }
  return tree;
}

/** Worse than the parent, as good, better: by how much shows in the colour. */
function shadeOf(node: Node, top: number): string {
  const gain = node.candidate.number === 0 ? 1 : speedup(node.candidate);
  if (gain === undefined) return "failed";
  return `shade${1 + Math.round(4 * Math.min(1, Math.max(0, (gain - 0.8) / Math.max(0.2, top - 0.8))))}`;
}

/** What sets its design apart from its parent's. */
function changed({ candidate, parent }: Node): string {
  if (!parent) return "the program as it was given";
  const before = designParts(parent.candidate.design);
  const parts = designParts(candidate.design).filter((part) => !before.includes(part));
  return parts.length > 0 ? parts.join(" · ") : "same design, other code";
}

export function LineageGraph({ run, list, number }: { run: string; list: Candidate[]; number: number }) {
  const tree = useMemo(() => treeOf(list, number), [list, number]);
  const host = useRef<HTMLDivElement>(null);
  const top = speedup(list[number]!) ?? 1;
  const onKey = (event: KeyboardEvent) => {
    const place = (event.target as HTMLElement).id.match(/^node-(\d+)-(\d+)$/);
    if (!place) return;
    const column = Number(place[1]), row = Number(place[2]);
    const main = (at: number) => Math.max(0, tree.columns[at]?.findIndex((node) => node.on) ?? 0);
    const to: Record<string, [number, number]> = {
      ArrowLeft: [column - 1, main(column - 1)], ArrowRight: [column + 1, main(column + 1)], ArrowUp: [column, row - 1], ArrowDown: [column, row + 1] };
    const next = to[event.key];
    if (!next) return;
    event.preventDefault();
    host.current?.querySelector<HTMLElement>(`#node-${next[0]}-${next[1]}`)?.focus();
  };
  return (
    <>
      <div class="scroll lineage-graph" tabIndex={0} role="region" aria-label={`Lineage of #${number}; arrows move between candidates`} onKeyDown={onKey}>
        <div ref={host} style={{ width: `${tree.width + 4}px`, height: `${tree.height + 4}px` }}>
          <svg width={tree.width + 4} height={tree.height + 4} aria-hidden="true">
            {tree.columns.flat().map((node) => node.parent && (
              <path key={node.candidate.number} class={node.on ? "edge on" : "edge"}
                    d={`M ${node.parent.x + WIDTH + 2} ${node.parent.y + HEIGHT / 2 + 2} C ${node.parent.x + WIDTH + 24} ${node.parent.y + HEIGHT / 2 + 2} ${node.x - 20} ${node.y + HEIGHT / 2 + 2} ${node.x + 2} ${node.y + HEIGHT / 2 + 2}`} />
            ))}
          </svg>
          {tree.columns.map((nodes, column) => nodes.map((node, row) => (
            <a key={node.candidate.number} id={`node-${column}-${row}`} href={`/runs/${run}/candidates/${node.candidate.number}`}
               class={`node ${shadeOf(node, top)}${node.on ? " on" : ""}`} style={{ left: `${node.x + 2}px`, top: `${node.y + 2}px`, width: `${WIDTH}px`, height: `${HEIGHT}px` }}
               title={node.candidate.number === 0 ? "the seed" : `${node.candidate.design}${node.candidate.text ? `: ${node.candidate.text}` : ""}`}>
              <b>#{node.candidate.number}</b><span class="gain">{node.candidate.number === 0 ? "seed" : speedup(node.candidate) ? factor(speedup(node.candidate)) : node.candidate.verdict === "" ? "not judged" : "✗ rejected"}</span><span class="what">{changed(node)}</span>
            </a>
          )))}
          {tree.left.map((one) => <span key={one.x} class="more soft" style={{ left: `${one.x + 2}px`, top: `${one.y}px` }}>and {count(one.number)} more of #{one.of}</span>)}
        </div>
      </div>
      <p class="legend"><span><i class="path-dot" />the way to #{number}</span><span><i class="shade1" />slower</span><span><i class="shade5" />as fast as #{number}</span><span><i class="failed" />rejected</span></p>
    </>
  );
}
