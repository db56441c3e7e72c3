// SPDX-License-Identifier: Apache-2.0
// The best of each cell of the design space: what carries the bytes against where communication sits.
import type { Candidate } from "../api";
import { count, factor, isBetter, speedup } from "../format";

interface Cell { count: number; best?: Candidate; gain: number }

export function designParts(design: string): string[] {
  return design.split(" · ");
}

export function DesignGrid({ list, choose }: { list: Candidate[]; choose: (filter: string) => void }) {
  const cells = new Map<string, Cell>();
  const backends: string[] = [];
  const placements: string[] = [];
  let top = 1;
  for (const candidate of list) {
    const [backend, placement] = designParts(candidate.design);
    if (!backend || !placement) continue;
    if (!backends.includes(backend)) backends.push(backend);
    if (!placements.includes(placement)) placements.push(placement);
    const key = `${backend} · ${placement}`;
    const cell = cells.get(key) ?? { count: 0, gain: 0 };
    cell.count++;
    const gain = speedup(candidate) ?? 0;
    if (isBetter(candidate, cell.best)) Object.assign(cell, { gain, best: candidate });
    top = Math.max(top, gain);
    cells.set(key, cell);
  }
  if (backends.length === 0) return null;
  const shade = (gain: number) => (gain <= 0 ? 0 : 1 + Math.round(4 * Math.min(1, Math.max(0, (gain - 0.8) / Math.max(0.2, top - 0.8)))));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Design space">
      <table class="grid">
        <thead><tr><th scope="col"><span class="hidden">placement</span></th>{backends.map((backend) => <th key={backend} scope="col">{backend}</th>)}</tr></thead>
        <tbody>
          {placements.map((placement) => (
            <tr key={placement}>
              <th scope="row">{placement}</th>
              {backends.map((backend) => {
                const key = `${backend} · ${placement}`;
                const cell = cells.get(key);
                if (!cell) return <td key={backend} class="none"><span class="hidden">not tried</span></td>;
                return (
                  <td key={backend}>
                    <button type="button" class={`cell shade${shade(cell.gain)}`} onClick={() => choose(key)}
                            title={cell.best ? `best: #${cell.best.number} ${cell.best.design}` : "none was correct"}>
                      <b>{cell.gain > 0 ? factor(cell.gain) : "✗"}</b><span>{count(cell.count)} tried</span>
                    </button>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
