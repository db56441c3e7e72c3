// SPDX-License-Identifier: Apache-2.0
// What each rank did when, programs on one scale. Wheel or buttons zoom, dragging moves.
import { useMemo, useRef, useState } from "preact/hooks";
import type { ProgramTimeline } from "../api";
import { time } from "../format";

const WIDTH = 1000, LEFT = 74, LANE = 10, GAP = 8, TITLE = 26, AXIS = 24;
const ACTIVITIES = ["kernel", "collective", "copy", "send", "wait"];

function step(length: number, wanted: number): number {
  const raw = length / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw) ?? raw;
}

export type Shown = ProgramTimeline & { title: string };

export function TimelineView({ programs, label }: { programs: Shown[]; label: string }) {
  const length = useMemo(() => {
    let longest = 0;
    for (const program of programs)
      for (const rank of program.ranks)
        for (const lane of rank.lanes)
          for (const stretch of lane.stretches) longest = Math.max(longest, stretch[1]);
    return longest;
  }, [programs]);
  const [view, setView] = useState<[number, number]>([0, 1]);
  const drag = useRef<{ x: number; view: [number, number] }>();
  const picture = useRef<SVGSVGElement>(null);
  if (!(length > 0)) return <p class="soft">Nothing was recorded.</p>;
  const from = view[0] * length, to = view[1] * length;
  const x = (at: number) => LEFT + ((WIDTH - LEFT - 10) * (at - from)) / (to - from);
  const zoom = (by: number, middle = 0.5) => {
    const width = Math.min(1, (view[1] - view[0]) * by);
    const begin = Math.max(0, Math.min(1 - width, view[0] + (view[1] - view[0]) * middle - width * middle));
    setView([begin, begin + width]);
  };
  const move = (by: number) => {
    const width = view[1] - view[0];
    const begin = Math.max(0, Math.min(1 - width, view[0] + by * width));
    setView([begin, begin + width]);
  };
  const onKey = (event: KeyboardEvent) => {
    const act: Record<string, () => void> = { "+": () => zoom(0.5), "-": () => zoom(2), ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "0": () => setView([0, 1]) };
    if (act[event.key]) { event.preventDefault(); act[event.key]!(); }
  };
  let y = 0;
  const parts: preact.JSX.Element[] = [];
  for (const program of programs) {
    y += TITLE;
    const end = Math.max(0, ...program.ranks.flatMap((rank) => rank.lanes.map((lane) => lane.stretches.at(-1)?.[1] ?? 0)));
    parts.push(<text key={`t${y}`} x={LEFT} y={y - 9} class="ink">{program.title}: {time(end * 1e-6)}</text>);
    for (const rank of program.ranks) {
      parts.push(<text key={`r${y}`} x={LEFT - 10} y={y + (rank.lanes.length * LANE) / 2 + 4} text-anchor="end">rank {rank.rank}</text>);
      for (const lane of rank.lanes) {
        for (const [begin, finish, what] of lane.stretches) {
          if (finish < from || begin > to) continue;
          const left = Math.max(x(begin), LEFT);
          parts.push(
            <rect key={`${y}-${begin}`} x={left} y={y} width={Math.max(0.7, Math.min(x(finish), WIDTH - 10) - left)} height={LANE - 2} class={`at-${lane.activity}`}>
              <title>{`${lane.activity}: ${what}, ${time(begin * 1e-6)} to ${time(finish * 1e-6)}`}</title>
            </rect>);
        }
        y += LANE;
      }
      y += GAP;
    }
  }
  const height = y + AXIS;
  const mark = step(to - from, 7);
  const marks: number[] = [];
  for (let at = Math.ceil(from / mark) * mark; at <= to; at += mark) marks.push(at);
  return (
    <figure class="timeline">
      <div class="bar">
        <button type="button" onClick={() => zoom(0.5)}>Zoom in</button><button type="button" onClick={() => zoom(2)} disabled={view[1] - view[0] >= 1}>Zoom out</button>
        <button type="button" onClick={() => move(-0.3)} aria-label="Earlier">←</button><button type="button" onClick={() => move(0.3)} aria-label="Later">→</button>
        <span class="soft">predicted time</span>
      </div>
      <div class="scroll" tabIndex={0} role="group" aria-label="Timeline; plus and minus zoom, arrows move" onKeyDown={onKey}>
        <svg ref={picture} viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={`What each rank did when: ${label}`}
             onPointerDown={(event) => { drag.current = { x: event.clientX, view }; }}
             onPointerMove={(event) => {
               if (!drag.current || event.buttons !== 1) return;
               const width = drag.current.view[1] - drag.current.view[0];
               const by = ((drag.current.x - event.clientX) / picture.current!.clientWidth) * width;
               const begin = Math.max(0, Math.min(1 - width, drag.current.view[0] + by));
               setView([begin, begin + width]);
             }}
             onPointerUp={() => { drag.current = undefined; }}
             onDblClick={() => zoom(0.5)}>
          {marks.map((at) => (
            <g key={at}><line x1={x(at)} x2={x(at)} y1={8} y2={height - AXIS + 4} class="rule" />
              <text x={x(at)} y={height - 6} text-anchor="middle">{at === 0 ? "0" : time(at * 1e-6)}</text></g>
          ))}
          {parts}
        </svg>
      </div>
      <figcaption class="legend">{ACTIVITIES.map((one) => <span key={one}><i class={`at-${one}`} />{one}</span>)}</figcaption>
    </figure>
  );
}
