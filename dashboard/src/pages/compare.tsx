// SPDX-License-Identifier: Apache-2.0
import { useEffect } from "preact/hooks";
import { type CandidateDetail, getCandidate, getTimeline } from "../api";
import { factor, time } from "../format";
import { Show, useLoaded } from "../loaded";
import { Code } from "../parts/code";
import { designParts } from "../parts/grid";
import { shown } from "../parts/recorded";
import { Trail, VerdictMark } from "../parts/small";
import { TimelineView } from "../parts/timeline";

export function Compare({ run, first, second }: { run: string; first: number; second: number }) {
  const both = useLoaded(() => Promise.all([getCandidate(run, first), getCandidate(run, second)]), `${run} ${first} ${second}`);
  useEffect(() => void (document.title = `#${first} and #${second} · run ${run} · cuco`), [run, first, second]);
  return (
    <>
      <Trail><a href={`/runs/${run}`}>{run}</a><span aria-current="page">#{first} and #{second}</span></Trail>
      <h1>#{first} and #{second}</h1>
      <Show of={both}>{([a, b]) => (
        <>
          <Facts run={run} a={a} b={b} />
          {a.timeline && b.timeline && <section><h2>Rank by rank</h2><Both run={run} first={first} second={second} /></section>}
          <section><h2>Code</h2><Code files={b.files} before={a.files} beforeName={`#${first}`} name={`#${second}`} /></section>
        </>
      )}</Show>
    </>
  );
}

/** Two recordings on one scale; the seed is in both. */
function Both({ run, first, second }: { run: string; first: number; second: number }) {
  const both = useLoaded(() => Promise.all([getTimeline(run, first), getTimeline(run, second)]), `${run} ${first} ${second}`);
  return (
    <Show of={both}>{([a, b]) => {
      const all = [...shown(a), ...shown(b)];
      return <TimelineView programs={all.filter((one, at) => all.findIndex((other) => other.title === one.title) === at)} label={`#${first} and #${second}`} />;
    }}</Show>
  );
}

const DIMENSIONS = ["backend", "placement", "synchronisation", "issuer", "chunk"];

function Facts({ run, a, b }: { run: string; a: CandidateDetail; b: CandidateDetail }) {
  const left = designParts(a.design), right = designParts(b.design);
  // What kernels do has no fixed places: the same words stand beside each other.
  const kernels = [...new Set([...left, ...right].filter((part) => ![left, right].some((all) => all.indexOf(part) >= 0 && all.indexOf(part) < DIMENSIONS.length)))];
  const rows: [string, string | undefined, string | undefined][] = [
    ...DIMENSIONS.map((name, index): [string, string | undefined, string | undefined] => [name, left[index], right[index]]),
    ...kernels.map((part): [string, string | undefined, string | undefined] => ["kernels", left.includes(part) ? part : undefined, right.includes(part) ? part : undefined]),
  ].filter(([, one, other]) => one !== undefined || other !== undefined);
  const last = (one: CandidateDetail) => one.verdicts[one.verdicts.length - 1];
  // Only shapes that both were timed on can be compared.
  const rung = b.verdicts.slice().reverse().find((verdict) => a.verdicts.some((other) => other.rung === verdict.rung))?.rung;
  const shapes = (one: CandidateDetail) => one.verdicts.find((verdict) => verdict.rung === rung)?.outcome.shapes ?? [];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Differences">
      <table class="compare">
        <thead><tr><th><span class="hidden">what</span></th>{[a, b].map((one) => <th key={one.number}><a href={`/runs/${run}/candidates/${one.number}`}>#{one.number}</a></th>)}<th class="n">change</th></tr></thead>
        <tbody>
          <tr><th scope="row">verdict</th>{[a, b].map((one) => <td key={one.number}><VerdictMark verdict={last(one)?.verdict ?? ""} /> <span class="rung">{last(one)?.rung}</span></td>)}<td /></tr>
          <tr><th scope="row">by</th><td>{a.proposer}</td><td>{b.proposer}</td><td /></tr>
          {rows.map(([name, one, other]) => (
            <tr key={`${name} ${one ?? other}`} class={one === other ? "same" : "differs"}><th scope="row">{name}</th><td>{one ?? "–"}</td><td>{other ?? "–"}</td><td class="n">{one === other ? "" : "≠"}</td></tr>
          ))}
          {shapes(a).map((shape) => {
            const other = shapes(b).find((one) => one.shape === shape.shape);
            if (!other) return null;
            return <tr key={shape.shape}><th scope="row">{shape.shape} <span class="soft">{rung}</span></th><td>{time(shape.seconds)}</td><td>{time(other.seconds)}</td><td class="n">{factor(shape.seconds / other.seconds)}</td></tr>;
          })}
        </tbody>
      </table>
      {rung === undefined && <p class="soft">They were not judged on the same rung: their times cannot be compared.</p>}
    </div>
  );
}
