// SPDX-License-Identifier: Apache-2.0
// The search's archive: the best of each cell, design region against how much communication nothing hides, of one
// island or of all. Candidates stand where they were made; copies that travelled to other islands are not shown.
import { useState } from "preact/hooks";
import { type Archive, type Candidate, getArchive } from "../api";
import { count, factor, isBetter, speedup } from "../format";
import { Show, useLoaded } from "../loaded";
import { designParts } from "./grid";

interface Cell { count: number; gain: number; best?: Candidate }

const kEverything = "all islands";
const kBinNames: Record<string, string> = { little: "little, below 5 %", some: "some, below 25 %", much: "much", unknown: "not profiled" };

/** "LSA · producer-fused · per-chunk flag": designs that differ in nothing but knobs are of one region. */
const regionOf = (candidate: Candidate) => designParts(candidate.design).slice(0, 3).join(" · ");

export function ArchiveGrid({ run, list, version, choose }: { run: string; list: Candidate[]; version: string; choose: (filter: string) => void }) {
  const archive = useLoaded(() => getArchive(run), `${run} ${version}`);
  return <Show of={archive}>{(value) => <Grid archive={value} list={list} choose={choose} />}</Show>;
}

function Grid({ archive, list, choose }: { archive: Archive; list: Candidate[]; choose: (filter: string) => void }) {
  const [island, setIsland] = useState(kEverything);
  const binOf = new Map(archive.exposed.map(([number, bin]) => [number, bin]));
  const islands = [...new Set(list.map((candidate) => candidate.island).filter((name) => name !== ""))].sort();
  const regions = new Map<string, Map<string, Cell>>();
  let top = 1;
  for (const candidate of list) {
    const gain = speedup(candidate);
    if (candidate.number === 0 || gain === undefined || designParts(candidate.design).length < 3) continue;
    if (island !== kEverything && candidate.island !== island) continue;
    const cells = regions.get(regionOf(candidate)) ?? new Map<string, Cell>();
    const bin = binOf.get(candidate.number) ?? "unknown";
    const cell = cells.get(bin) ?? { count: 0, gain: 0 };
    cell.count++;
    if (isBetter(candidate, cell.best)) Object.assign(cell, { gain, best: candidate });
    top = Math.max(top, gain);
    regions.set(regionOf(candidate), cells.set(bin, cell));
  }
  const bestOf = (cells: Map<string, Cell>) => Math.max(...[...cells.values()].map((cell) => cell.gain));
  const rows = [...regions].sort(([, a], [, b]) => bestOf(b) - bestOf(a));
  const bins = archive.bins.filter((bin) => bin !== "unknown" || rows.some(([, cells]) => cells.has(bin)));
  return (
    <>
      {islands.length > 1 && (
        <div class="choices" role="group" aria-label="Island">
          {[kEverything, ...islands].map((name) => (
            <button key={name} type="button" aria-pressed={name === island} onClick={() => setIsland(name)}>{name}</button>
          ))}
        </div>
      )}
      {rows.length === 0 ? <p class="soft">Nothing correct yet.</p> : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Archive">
          <table class="grid archive">
            <caption class="soft">Exposed communication, as a share of the time; each cell keeps its best, however slow beside the others.</caption>
            <thead><tr><th scope="col">region</th>{bins.map((bin) => <th key={bin} scope="col">{kBinNames[bin] ?? bin}</th>)}</tr></thead>
            <tbody>{rows.map(([region, cells]) => (
              <tr key={region}>
                <th scope="row">{region}</th>
                {bins.map((bin) => {
                  const cell = cells.get(bin);
                  if (!cell) return <td key={bin} class="none"><span class="hidden">empty</span></td>;
                  return (
                    <td key={bin}>
                      <button type="button" class={`cell shade${shade(cell.gain, top)}`} title={`best: #${cell.best?.number} ${cell.best?.design}`} onClick={() => choose(region)}>
                        <b>{factor(cell.gain)}</b><span>#{cell.best?.number}{cell.count > 1 && `, best of ${count(cell.count)}`}</span>
                      </button>
                    </td>
                  );
                })}
              </tr>
            ))}</tbody>
          </table>
        </div>
      )}
    </>
  );
}

const shade = (gain: number, top: number) => 1 + Math.round(4 * Math.min(1, Math.max(0, (gain - 0.8) / Math.max(0.2, top - 0.8))));
