// SPDX-License-Identifier: Apache-2.0
// The search as a plot: a dot per candidate, the best so far as a staircase, the lineage of the best.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Candidate } from "../api";
import { isFull, speedup } from "../format";
import { go } from "../router";
import { colour, useDark } from "../theme";

interface Props { run: string; list: Candidate[]; best: number | null; bound?: number }

function series(list: Candidate[], best: number | null): uPlot.AlignedData {
  const numbers: number[] = [];
  const correct: (number | null)[] = [];
  const small: (number | null)[] = [];
  const rejected: (number | null)[] = [];
  const stairs: (number | null)[] = [];
  const line: (number | null)[] = [];
  const family = new Set<number>();
  for (let at = best; at !== null && !family.has(at); at = list[at]?.parent ?? null) family.add(at);
  let top = 0;
  // Once somebody was timed on full shapes, small ones lift nobody.
  const anyFull = list.some((candidate) => candidate.number !== 0 && isFull(candidate) && candidate.seconds > 0);
  for (const candidate of list) {
    const value = speedup(candidate) ?? (candidate.number === 0 && candidate.seconds > 0 ? 1 : undefined);
    numbers.push(candidate.number);
    const counts = !anyFull || isFull(candidate) || candidate.number === 0;
    correct.push(counts ? (value ?? null) : null);
    small.push(counts ? null : (value ?? null));
    rejected.push(candidate.verdict !== "" && candidate.verdict !== "scored" ? 0 : null);
    if (value !== undefined && counts && value > top) top = value;
    stairs.push(top > 0 ? top : null);
    line.push(family.has(candidate.number) ? (value ?? null) : null);
  }
  return [numbers, correct, small, rejected, stairs, line];
}

function options(width: number, count: number, open: (index: number) => void, bound?: number): uPlot.Options {
  const soft = colour("--soft");
  const axis = { stroke: soft, grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  const size = count > 500 ? 3 : count > 100 ? 5 : 8;
  return {
    width, height: 300, padding: [12, 22, 0, 0], legend: { show: false },
    cursor: { points: { show: false }, drag: { x: true, y: false } },
    scales: { x: { time: false }, y: { range: (_u, _low, high) => [0, Math.max(1.2, high * 1.08)] } },
    axes: [
      { ...axis, values: (_u, marks) => marks.map((mark) => (Number.isInteger(mark) ? `#${mark}` : "")) },
      { ...axis, values: (_u, marks) => marks.map((mark) => `${mark}x`), size: 52 },
    ],
    series: [
      {},
      { label: "correct", paths: () => null, points: { show: true, size, fill: soft, stroke: soft } },
      { label: "correct, small shapes only", paths: () => null, points: { show: true, size: size - 1, fill: colour("--paper"), stroke: soft, width: 1 } },
      { label: "rejected", paths: () => null, points: { show: true, size: size - 1, fill: colour("--bad"), stroke: colour("--bad") } },
      { label: "best so far", stroke: colour("--accent"), width: 2, points: { show: false }, paths: uPlot.paths.stepped!({ align: 1 }) },
      { label: "lineage of the best", stroke: colour("--kernel"), width: 1.5, dash: [4, 4], spanGaps: true,
        points: { show: true, size: size + 3, fill: colour("--kernel"), stroke: colour("--kernel") } },
    ],
    hooks: {
      draw: [(u) => {
        const mark = (value: number, text: string) => {
          const y = u.valToPos(value, "y", true);
          if (y < u.bbox.top) return;
          u.ctx.save();
          u.ctx.strokeStyle = u.ctx.fillStyle = soft;
          u.ctx.textAlign = "right";  // the first candidates stand at the left
          u.ctx.setLineDash([5, 5]);
          u.ctx.beginPath();
          u.ctx.moveTo(u.bbox.left, y);
          u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
          u.ctx.stroke();
          u.ctx.font = `${12 * devicePixelRatio}px system-ui`;
          u.ctx.fillText(text, u.bbox.left + u.bbox.width - 6 * devicePixelRatio, y - 5 * devicePixelRatio);
          u.ctx.restore();
        };
        mark(1, "seed");
        if (bound && bound > 1) mark(bound, "bound");
      }],
      ready: [(u) => u.over.addEventListener("click", () => u.cursor.idx != null && open(u.cursor.idx))],
    },
  };
}

export function History({ run, list, best, bound }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const dark = useDark();
  const latest = useRef(list);
  latest.current = list;
  const scale = list.length > 500 ? 2 : list.length > 100 ? 1 : 0;
  useEffect(() => {
    const element = place.current!;
    const open = (index: number) => {
      const candidate = latest.current[index];
      if (candidate) go(`/runs/${run}/candidates/${candidate.number}`);
    };
    plot.current = new uPlot(options(element.clientWidth, latest.current.length, open, bound), series(latest.current, best), element);
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: 300 }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
    };
  }, [dark, scale, run, bound]);
  useEffect(() => plot.current?.setData(series(list, best)), [list, best]);
  return (
    <figure class="plot">
      <div ref={place} role="img" aria-label={`Speed-up of ${list.length} candidates over the seed. The table below has the same.`} />
      <figcaption class="legend">
        <span><i class="dot soft-dot" />correct</span><span><i class="dot hollow-dot" />correct, timed on small shapes only</span><span><i class="dot bad-dot" />rejected</span>
        <span><i class="stroke accent-stroke" />best so far</span><span><i class="dot kernel-dot" />lineage of the best</span>
      </figcaption>
    </figure>
  );
}
