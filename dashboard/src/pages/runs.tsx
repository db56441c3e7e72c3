// SPDX-License-Identifier: Apache-2.0
import { useEffect } from "preact/hooks";
import { getRuns, type RunHead } from "../api";
import { count, date, factor, nameOf, shownDesign, time } from "../format";
import { Empty, Show, useLoaded } from "../loaded";
import { predicted, StateMark } from "../parts/small";

export function Runs() {
  const runs = useLoaded(getRuns, "runs", 5000);
  useEffect(() => void (document.title = "Runs · cuco"), []);
  return (
    <>
      <h1>Runs</h1>
      <Show of={runs}>{(list) => (list.length === 0 ? <NoRuns /> : <RunList list={list} />)}</Show>
    </>
  );
}

const NoRuns = () => (
  <Empty title="No runs yet">
    <p>A run appears here as soon as it starts:</p>
    <pre>cuco optimize workloads/gemm_allgather</pre>
    <p>Or play back a recorded one, which needs no compiler:</p>
    <pre>cuco demo</pre>
  </Empty>
);

function RunList({ list }: { list: RunHead[] }) {
  return (
    <ul class="runs">
      {list.map((run) => (
        <li key={run.run}>
          <a href={`/runs/${run.run}`} class="card">
            <span class="card-title"><b>{nameOf(run.workload)}</b><span class="soft">run {run.run}</span><StateMark state={run.state} /></span>
            <span class="card-result">
              {run.best
                ? <><b class="good">{factor(run.best.baseline_seconds / run.best.seconds)}</b> <span>{time(run.best.seconds)} {predicted(run.best.predicted)}, seed {time(run.best.baseline_seconds)}</span></>
                : <span class="soft">nothing faster than the seed yet</span>}
            </span>
            <span class="soft card-foot">{run.best ? shownDesign(run.best.design) : run.hardware}</span>
            <span class="soft card-foot">{count(run.candidates)} candidates · {run.hardware} · {date(run.started_ms)}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}
