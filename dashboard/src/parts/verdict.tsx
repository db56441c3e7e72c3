// SPDX-License-Identifier: Apache-2.0
// A verdict with its reasons: times by shape, what limits them, where the time went, what was checked.
import type { ShapeTime, Verdict } from "../api";
import { factor, some, time } from "../format";
import { predicted, VerdictMark } from "./small";

function interval(shape: ShapeTime): string {
  const range = shape.speedup;
  const [low, high] = Array.isArray(range) ? range : [range?.low ?? 0, range?.high ?? 0];
  if (high > low) return `${low.toFixed(3)}x to ${high.toFixed(3)}x`;
  return shape.baseline_seconds ? factor(shape.baseline_seconds / shape.seconds) : "–";
}

function Samples({ samples }: { samples: number[] }) {
  const low = Math.min(...samples), high = Math.max(...samples);
  const x = (value: number) => (high > low ? 4 + (112 * (value - low)) / (high - low) : 60);
  return (
    <svg class="samples" viewBox="0 0 120 14" role="img" aria-label={`${samples.length} samples from ${time(low)} to ${time(high)}`}>
      {samples.map((value, index) => <circle key={index} cx={x(value)} cy={7} r={2.5} />)}
    </svg>
  );
}

/** A full shape is timed on two models; how far they agree says what the time is worth. */
function Scale({ shape }: { shape: ShapeTime }) {
  const model = shape.scale_model;
  if (!model || !(model.factor > 1)) return null;  // 1/1 is the shape itself
  const percent = model.smaller_factor ? Math.round(100 * ((model.smaller_seconds ?? 0) / shape.seconds - 1)) : undefined;
  return (
    <><br /><span class="soft">as a scale model, 1/{model.factor}
      {percent !== undefined && `; 1/${model.smaller_factor} takes ${Math.abs(percent)} % ${percent < 0 ? "less" : "more"}`}</span></>
  );
}

/** `seed`: the seed's times by shape, where there is something to compare with. */
export function VerdictView({ verdict, seed = [] }: { verdict: Verdict; seed?: ShapeTime[] }) {
  const outcome = verdict.outcome;
  const shapes = outcome.shapes ?? [];
  const sampled = shapes.some((shape) => (shape.samples?.length ?? 0) > 1);
  return (
    <section class="verdict">
      <h3><VerdictMark verdict={verdict.verdict} /> <span>{verdict.rung}</span> <span class="soft">judged in {verdict.wall_seconds.toFixed(1)} s</span></h3>
      {verdict.verdict !== "scored" && <pre class="why">{verdict.explanation}</pre>}
      {shapes.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label={`Times by shape, ${verdict.rung}`}>
          <table>
            <thead><tr><th>shape</th><th class="n">time, {predicted(verdict.predicted)}</th><th class="n">seed</th><th class="n">bound</th><th>limited by</th><th class="n">speed-up</th>{sampled && <th>samples</th>}</tr></thead>
            <tbody>{shapes.map((shape) => (
              <tr key={shape.shape}><td>{shape.shape}<Scale shape={shape} /></td><td class="n">{time(shape.seconds)}</td><td class="n">{time(shape.baseline_seconds ?? 0)}</td>
                <td class="n">{time(shape.bound_seconds ?? 0)}</td><td>{shape.limited_by || "–"}</td><td class="n">{interval(shape)}</td>
                {sampled && <td>{shape.samples && shape.samples.length > 1 && <Samples samples={shape.samples} />}</td>}</tr>
            ))}</tbody>
          </table>
        </div>
      )}
      {shapes.map((shape) => <Where key={shape.shape} shape={shape} seed={seed.find((one) => one.shape === shape.shape)} />)}
      {verdict.verdict === "scored" && (
        <p class="soft">Checked on {some(outcome.checked_shapes, "shape")}, {some(outcome.checked_hidden_shapes, "hidden one")}, in {some(outcome.checked_schedules, "schedule")}.
          {(outcome.left_out ?? []).map((line) => <span key={line}><br />Left out: {line}</span>)}
          {(outcome.warnings ?? []).map((line) => <span key={line}><br />{line}</span>)}</p>
      )}
    </section>
  );
}

/** Where the slowest rank's time went, beside the seed's, and the lines that took it. */
function Where({ shape, seed }: { shape: ShapeTime; seed?: ShapeTime }) {
  const phases = shape.phases ?? [];
  const before = phases.length > 0 ? seed?.phases ?? [] : [];
  const spots = shape.hot_spots ?? [];
  if (phases.length === 0 && spots.length === 0) return null;
  // What only the seed spends time on comes first: that is what was gained.
  const names = [...before.filter((one) => !phases.some((phase) => phase.phase === one.phase)), ...phases].map((one) => one.phase);
  const of = (list: { phase: string; seconds: number }[], name: string) => list.find((one) => one.phase === name)?.seconds ?? 0;
  const longest = Math.max(...phases.map((phase) => phase.seconds), ...before.map((phase) => phase.seconds), 1e-12);
  const bar = (seconds: number, kind: string) => (
    <svg viewBox="0 0 100 9" preserveAspectRatio="none" aria-hidden="true"><rect class={kind} width={(100 * seconds) / longest} height="9" /></svg>
  );
  return (
    <details>
      <summary>Where the time goes: {shape.shape}</summary>
      {phases.length > 0 && (
        <table class="phases">
          {before.length > 0 && <thead><tr><th><span class="hidden">phase</span></th><th class="n">seed</th><th class="n">this one</th><th><span class="hidden">bars</span></th></tr></thead>}
          <tbody>{names.map((name) => (
            <tr key={name}><th scope="row">{name}</th>{before.length > 0 && <td class="n soft">{time(of(before, name))}</td>}<td class="n">{time(of(phases, name))}</td>
              <td class="wide">{before.length > 0 && bar(of(before, name), "was")}{bar(of(phases, name), "is")}</td></tr>
          ))}</tbody></table>
      )}
      {spots.length > 0 && (
        <table class="spots"><thead><tr><th>line</th><th class="n">share of warps' time</th><th>what</th></tr></thead>
          <tbody>{spots.map((spot, index) => (
            <tr key={index}><td><code>{spot.where.file}:{spot.where.line}</code> {spot.where.kernel}</td><td class="n">{(100 * spot.share).toFixed(0)} %</td><td>{spot.what}</td></tr>
          ))}</tbody></table>
      )}
    </details>
  );
}
