// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { type Candidate, type Candidates, follow, getCandidates, getCandidate, getRun, type Plan, type RunDetail } from "../api";
import { count, duration, factor, isBetter, nameOf, speedup, time } from "../format";
import { ProblemNote, Show, useLoaded } from "../loaded";
import { ArchiveGrid } from "../parts/archive";
import { DesignGrid } from "../parts/grid";
import { History } from "../parts/history";
import { LineageGraph } from "../parts/lineage";
import { isWhole, Recorded } from "../parts/recorded";
import { predicted, StateMark, Tile, Trail } from "../parts/small";
import { CandidateTable } from "../parts/table";

/** Takes changed rows over; they are in the order of their numbers. */
function merged(list: Candidate[], changed: Candidate[]): Candidate[] {
  const made = list.slice();
  for (const candidate of changed) made[candidate.number] = candidate;
  return made;
}

/** The best so far, unless a closer look refused it later. */
function bestOf(data: Candidates | undefined): Candidate | undefined {
  const best = data && data.best !== null ? data.list[data.best] : undefined;
  return best?.verdict === "scored" ? best : undefined;
}

export function Run({ run }: { run: string }) {
  const [data, setData] = useState<Candidates>();
  const [problem, setProblem] = useState<string>();
  const [live, setLive] = useState(false);
  const [version, setVersion] = useState(0);
  const [filter, setFilter] = useState("");
  useEffect(() => {
    let stop = () => {};
    let current = true;
    getCandidates(run).then(
      (first) => {
        if (!current) return;
        setData(first);
        stop = follow(run, first.sequence, (change) => {
          setData((before) => before && { ...change, list: merged(before.list, change.list) });
          setVersion((before) => before + 1);
        }, setLive);
      },
      (error: Error) => setProblem(error.message));
    return () => { current = false; stop(); };
  }, [run]);
  const detail = useLoaded(() => getRun(run), `${run} ${data?.state ?? ""}`);
  useEffect(() => void (document.title = `${data ? `${count(data.list.length)} candidates · ` : ""}run ${run} · cuco`), [run, data]);
  if (problem) return <ProblemNote text={problem} />;
  const best = bestOf(data);
  return (
    <>
      <Trail><span aria-current="page">{run}</span></Trail>
      <Show of={detail}>{(head) => <Head head={head} data={data} live={live} />}</Show>
      {data && (
        <>
          {data.list.length > 1
            ? <section aria-label="The search"><h2>The search</h2><History run={run} list={data.list} best={best?.number ?? null} bound={best && best.bound > 0 ? best.baseline / best.bound : undefined} /></section>
            : <p class="soft">The seed is being judged; candidates come next.</p>}
          {best && best.number !== 0 && (
            <section><h2>How #{best.number} came about</h2><LineageGraph run={run} list={data.list} number={best.number} /></section>
          )}
          <div class="columns">
            <section><h2>Design space</h2><DesignGrid list={data.list} choose={setFilter} /></section>
            <section><h2>Islands</h2><Islands list={data.list} choose={setFilter} /></section>
          </div>
          {data.list.length > 1 && (
            <section><h2>The search's archive</h2>
              <ArchiveGrid run={run} list={data.list} version={`${data.state} ${Math.floor(version / 10)}`} choose={setFilter} /></section>
          )}
          <section id="candidates"><h2>Candidates</h2>
            <CandidateTable run={run} list={data.list} best={best?.number ?? null} filter={filter} setFilter={setFilter} /></section>
        </>
      )}
      {detail.value && <Below head={detail.value} run={run} list={data?.list ?? []} best={best} />}
    </>
  );
}

function Head({ head, data, live }: { head: RunDetail; data?: Candidates; live: boolean }) {
  const row = bestOf(data);
  const gain = row && row.seconds > 0 ? row.baseline / row.seconds : undefined;
  const judged = data?.list.filter((candidate) => candidate.verdict !== "").length ?? 0;
  const state = data?.state ?? head.state;
  return (
    <>
      <h1>{nameOf(head.workload)} <StateMark state={state} /> {state === "running" && <span class="soft small" role="status">{live ? "live" : "connecting …"}</span>}</h1>
      <p class="lead">{head.target} · {head.hardware} · seed {head.seed} · {duration((head.last_ms - head.started_ms) / 1000)}</p>
      <div class="tiles">
        {row && gain !== undefined ? (
          <>
            <Tile good value={factor(gain)} label={`speed-up, ${predicted(row.predicted)}`} />
            <Tile value={time(row.seconds)} label={`best, #${row.number}`} />
            <Tile value={time(row.baseline)} label="seed, same shapes" />
            {row.bound > 0 && <Tile value={time(row.bound)} label={`speed of light, ${Math.round((100 * row.bound) / row.seconds)} % reached`} />}
          </>
        ) : <Tile value="–" label={state === "running" ? "nothing faster than the seed yet" : "nothing was faster than the seed"} />}
        <Tile value={count(judged)} label="candidates judged" />
      </div>
      {head.best?.error && <p class="soft">Error of predicted times: {head.best.error}. One time for several shapes is their geometric mean: of the full shapes where these were timed, else of all.</p>}
    </>
  );
}

function Islands({ list, choose }: { list: Candidate[]; choose: (filter: string) => void }) {
  const islands = new Map<string, { count: number; correct: number; gain: number; best?: Candidate }>();
  for (const candidate of list) {
    if (candidate.number === 0) continue;
    const name = candidate.island || candidate.phase || "no island";
    const island = islands.get(name) ?? { count: 0, correct: 0, gain: 0 };
    island.count++;
    if (candidate.verdict === "scored") island.correct++;
    if (isBetter(candidate, island.best)) Object.assign(island, { gain: speedup(candidate), best: candidate });
    islands.set(name, island);
  }
  if (islands.size === 0) return <p class="soft">None yet.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Islands">
      <table>
        <thead><tr><th>island</th><th class="n">candidates</th><th class="n">correct</th><th class="n">best</th></tr></thead>
        <tbody>{[...islands].map(([name, island]) => (
          <tr key={name}><td><button type="button" class="link" onClick={() => choose(name)}>{name}</button></td><td class="n">{count(island.count)}</td>
            <td class="n">{count(island.correct)}</td><td class="n">{island.best ? `#${island.best.number} ${factor(island.gain)}` : "–"}</td></tr>
        ))}</tbody>
      </table>
    </div>
  );
}

function Below({ head, run, list, best }: { head: RunDetail; run: string; list: Candidate[]; best?: Candidate }) {
  return (
    <>
      {best && best.predicted && <section><h2>Before and after, rank by rank</h2><TimelineOf key={best.number} run={run} number={best.number} /></section>}
      {head.plans.length > 0 && (
        <section><h2>Plans</h2>
          <Plans run={run} plans={head.plans} list={list} />
        </section>
      )}
      {head.notes.length > 0 && <section><h2>What it learnt</h2><ul>{head.notes.map((note) => <li key={note}>{note}</li>)}</ul></section>}
      <div class="columns">
        <section><h2>Fast path</h2>
          {head.steps.length === 0 ? <p class="soft">There was none.</p>
            : <ol class="steps">{head.steps.map((step, index) => <li key={index} class={step.ok ? "ok" : "bad"}><b>{step.ok ? "✓" : "✗"} {step.step}</b> <span class="soft">{step.detail}</span></li>)}</ol>}
        </section>
        <section><h2>What was asked</h2>
          <table class="asked"><tbody>{head.asked.map(([label, value]) => <tr key={label}><th scope="row">{label}</th><td>{value}</td></tr>)}</tbody></table>
          <p><a href={`/runs/${run}/cost`}>What it cost</a> <span class="soft">· the judge worked {duration(head.judge_seconds)}</span></p>
        </section>
      </div>
    </>
  );
}

/** What was meant to be tried, what came of it, and what it was expected to gain. */
function Plans({ run, plans, list }: { run: string; plans: Plan[]; list: Candidate[] }) {
  return (
    <ul class="plans">{plans.map((plan) => {
      const tries = plan.tries.flatMap((number) => list[number] ?? []);
      const best = Math.max(0, ...tries.map((one) => speedup(one) ?? 0));
      return (
        <li key={plan.number} id={`plan-${plan.number}`}>
          <h3>Plan {plan.number} <span class="design">{plan.design}</span></h3>
          <p class="soft">{plan.reason}</p>
          {plan.preconditions.length > 0 && <p class="soft">Needs: {plan.preconditions.join("; ")}</p>}
          <p>expected {factor(plan.expected_gain)}{best > 0 && <> · best so far <b>{factor(best)}</b></>}{plan.parent !== undefined && <> · goes on from <a href={`#plan-${plan.parent}`}>plan {plan.parent}</a></>}
            {" · "}{tries.length === 0 ? "not tried" : <>tried as {tries.slice(0, 24).map((one) => (
              <a key={one.number} href={`/runs/${run}/candidates/${one.number}`}>#{one.number} <span class="soft">{speedup(one) ? factor(speedup(one)) : "✗"}</span>{" "}</a>
            ))}{tries.length > 24 && `and ${count(tries.length - 24)} more`}</>}</p>
        </li>
      );
    })}</ul>
  );
}

function TimelineOf({ run, number }: { run: string; number: number }) {
  const candidate = useLoaded(() => getCandidate(run, number), `${run} ${number}`);
  return <Show of={candidate}>{(value) => <Recorded run={run} number={number} recorded={value.timeline} whole={isWhole(value)} seconds={value.verdicts[0]?.wall_seconds} />}</Show>;
}
