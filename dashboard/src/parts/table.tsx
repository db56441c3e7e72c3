// SPDX-License-Identifier: Apache-2.0
// Candidates in a table that draws only the rows in sight: ten thousand cost no more than twenty.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Candidate } from "../api";
import { count, factor, shownDesign, speedup, time } from "../format";
import { go } from "../router";
import { VerdictMark } from "./small";

const ROW = 34;
const VISIBLE = 16;

type Column = "number" | "design" | "verdict" | "island" | "seconds" | "gain";
const COLUMNS: { key: Column; title: string; right?: boolean }[] = [
  { key: "number", title: "#", right: true }, { key: "design", title: "design" }, { key: "island", title: "island" },
  { key: "verdict", title: "verdict" }, { key: "seconds", title: "time", right: true },
  { key: "gain", title: "over seed", right: true },
];

function value(candidate: Candidate, column: Column): number | string {
  if (column === "gain") return speedup(candidate) ?? -1;
  if (column === "seconds") return candidate.seconds > 0 ? candidate.seconds : Infinity;
  return candidate[column];
}

function matches(candidate: Candidate, words: string[]): boolean {
  const text = `#${candidate.number} ${candidate.design} ${candidate.verdict || "not judged"} ${candidate.island} ${candidate.phase} ${candidate.proposer} ${candidate.text}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

interface Props { run: string; list: Candidate[]; best: number | null; filter: string; setFilter: (filter: string) => void }

export function CandidateTable({ run, list, best, filter, setFilter }: Props) {
  const [sort, setSort] = useState<{ column: Column; down: boolean }>({ column: "number", down: false });
  const [top, setTop] = useState(0);
  const [active, setActive] = useState(0);
  const [spoken, setSpoken] = useState("");
  const [chosen, setChosen] = useState<number[]>([]);
  const scroller = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);

  const shown = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== "" && word !== "·");
    const found = words.length > 0 ? list.filter((candidate) => matches(candidate, words)) : list.slice();
    const { column, down } = sort;
    if (column !== "number" || down) {
      found.sort((a, b) => {
        const x = value(a, column), y = value(b, column);
        const order = x < y ? -1 : x > y ? 1 : a.number - b.number;
        return down ? -order : order;
      });
    }
    return found;
  }, [list, filter, sort]);

  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if ((event.target as Element).closest?.("input, select, textarea, .cm-content")) return;
      if (event.key === "/") {
        event.preventDefault();
        input.current?.focus();
      }
      if (event.key === "b" && best !== null) go(`/runs/${run}/candidates/${best}`);
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [run, best]);

  const open = (candidate: Candidate | undefined) => candidate && go(`/runs/${run}/candidates/${candidate.number}`);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(shown.length - 1, to));
    setActive(next);
    const row = shown[next];
    if (row) setSpoken(`#${row.number}, ${shownDesign(row.design)}, ${row.verdict || "not judged"}, ${factor(speedup(row))}`);
    const box = scroller.current!;
    if (next * ROW < box.scrollTop) box.scrollTop = next * ROW;
    if ((next + 1) * ROW > box.scrollTop + VISIBLE * ROW) box.scrollTop = (next + 1 - VISIBLE) * ROW;
  };
  const onKey = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: VISIBLE, PageUp: -VISIBLE, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      move(active + step);
    } else if (event.key === "Enter") open(shown[active]);
    else if (event.key === " ") {
      event.preventDefault();
      if (shown[active]) toggle(shown[active].number);
    }
  };
  const toggle = (number: number) =>
    setChosen((before) => (before.includes(number) ? before.filter((one) => one !== number) : [...before.slice(-1), number]));
  const first = Math.max(0, Math.floor(top / ROW) - 6);
  const rows = shown.slice(first, first + VISIBLE + 14);
  const height = Math.min(VISIBLE, Math.max(1, shown.length)) * ROW;

  return (
    <div class="candidates">
      <div class="bar">
        <input ref={input} type="search" value={filter} placeholder="Filter: LSA, wrong result, #12 … (/)" aria-label="Filter the candidates"
               onInput={(event) => { setFilter((event.target as HTMLInputElement).value); setActive(0); if (scroller.current) scroller.current.scrollTop = 0; }} />
        <span class="soft" role="status">{shown.length === list.length ? `${count(list.length)} candidates` : `${count(shown.length)} of ${count(list.length)}`}</span>
        <span class="grow" />
        {chosen.length === 2
          ? <a class="button" href={`/runs/${run}/compare/${chosen[0]}/${chosen[1]}`}>Compare #{chosen[0]} and #{chosen[1]}</a>
          : <span class="soft">choose two to compare</span>}
      </div>
      <div class="vtable" role="grid" aria-label="Candidates" aria-rowcount={shown.length + 1} aria-colcount={COLUMNS.length + 1}>
        <div class="vhead" role="row" aria-rowindex={1}>
          <span role="columnheader"><span class="hidden">compare</span></span>
          {COLUMNS.map((column) => (
            <span key={column.key} role="columnheader" class={`c-${column.key}${column.right ? " n" : ""}`}
                  aria-sort={sort.column === column.key ? (sort.down ? "descending" : "ascending") : "none"}>
              <button type="button" onClick={() => setSort({ column: column.key, down: sort.column === column.key ? !sort.down : column.key === "gain" })}>
                {column.title}{sort.column === column.key ? (sort.down ? " ↓" : " ↑") : ""}
              </button>
            </span>
          ))}
        </div>
        <div class="vbody" role="rowgroup" ref={scroller} tabIndex={0} style={{ height: `${height}px` }} onKeyDown={onKey} aria-label="Rows; arrows move, Enter opens, space chooses"
             onScroll={() => setTop(scroller.current!.scrollTop)}>
          <div role="presentation" style={{ height: `${shown.length * ROW}px`, position: "relative" }}>
            {rows.map((candidate, index) => {
              const place = first + index;
              const gain = speedup(candidate);
              return (
                <div key={candidate.number} id={`row-${candidate.number}`} role="row" aria-rowindex={place + 2} style={{ top: `${place * ROW}px` }}
                     class={`vrow${candidate.number === best ? " best" : ""}${place === active ? " active" : ""}`} onClick={() => open(candidate)}>
                  <span role="gridcell" onClick={(event) => event.stopPropagation()}>
                    <input type="checkbox" tabIndex={-1} checked={chosen.includes(candidate.number)} onChange={() => toggle(candidate.number)} aria-label={`Compare #${candidate.number}`} />
                  </span>
                  <span role="gridcell" class="c-number n"><a href={`/runs/${run}/candidates/${candidate.number}`} tabIndex={-1}>#{candidate.number}</a></span>
                  <span role="gridcell" class="c-design" title={candidate.design}>{candidate.number === 0 ? "the seed" : shownDesign(candidate.design)}</span>
                  <span role="gridcell" class="c-island soft">{candidate.island || "–"}</span>
                  <span role="gridcell" class="c-verdict" title={candidate.text}><VerdictMark verdict={candidate.verdict} />
                    {candidate.fidelity && candidate.verdict === "scored" && <span class="soft"> {candidate.fidelity}</span>}
                    {candidate.verdict !== "scored" && <span class="soft"> {candidate.text}</span>}</span>
                  <span role="gridcell" class="c-seconds n">{time(candidate.seconds)}</span>
                  <span role="gridcell" class="c-gain n">{candidate.number === 0 ? "–" : factor(gain)}{candidate.number === best ? " ★" : ""}</span>
                </div>
              );
            })}
          </div>
        </div>
      </div>
      <p class="hidden" role="status">{spoken}</p>
      {shown.length === 0 && <p class="soft none">No candidate matches. <button type="button" class="link" onClick={() => setFilter("")}>Show all</button></p>}
    </div>
  );
}
