// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { getCost, type Cost, type Sum } from "../api";
import { count, duration } from "../format";
import { Empty, Show, useLoaded } from "../loaded";
import { Tile, Trail } from "../parts/small";

const price = (sum: Sum) =>
  sum.dollars === undefined ? "price unknown" : `$${sum.dollars.toFixed(4)}${sum.unpriced_calls > 0 ? ` + ${sum.unpriced_calls} of unknown price` : ""}`;

export function CostPage({ run }: { run: string }) {
  const cost = useLoaded(() => getCost(run), run);
  useEffect(() => void (document.title = `Cost · run ${run} · cuco`), [run]);
  return (
    <>
      <Trail><a href={`/runs/${run}`}>{run}</a><span aria-current="page">cost</span></Trail>
      <h1>What run {run} cost</h1>
      <Show of={cost}>{(value) => (value.total.calls === 0 ? <Empty title="It asked no model"><p>The built-in expert proposes without one, and costs nothing but this machine's time.</p></Empty> : <Costs run={run} cost={value} />)}</Show>
    </>
  );
}

function Costs({ run, cost }: { run: string; cost: Cost }) {
  return (
    <>
      <div class="tiles">
        <Tile value={price(cost.total)} label="in all" /><Tile value={count(cost.total.calls)} label="calls" />
        <Tile value={count(cost.total.prompt_tokens)} label={`tokens in, ${count(cost.total.cached_tokens)} cached`} />
        <Tile value={count(cost.total.answer_tokens)} label={`tokens out, ${count(cost.total.reasoning_tokens)} for reasoning`} />
        <Tile value={duration(cost.total.seconds)} label="waited for answers" />
      </div>
      {cost.cut_off_calls > 0 && <p class="soft">{cost.cut_off_calls} calls were cut off; they are not in the sums.</p>}
      <Group title="By model" sums={cost.models} /><Group title="By role" sums={cost.roles} /><Candidates run={run} first={cost} />
    </>
  );
}

/** A page at a time: a long search has thousands. */
function Candidates({ run, first }: { run: string; first: Cost }) {
  const [list, setList] = useState(first.candidates);
  const [problem, setProblem] = useState("");
  const more = () => getCost(run, list.length).then((page) => setList(list.concat(page.candidates)), (error: Error) => setProblem(error.message));
  const rows = list.map((sum): [string, Sum] => [sum.candidate === null ? "no candidate" : `#${sum.candidate}`, sum]);
  return (
    <>
      <Rows title="By candidate" rows={rows} />
      {list.length < first.candidates_in_all && (
        <p><button type="button" onClick={more}>Show more</button> <span class="soft">{count(list.length)} of {count(first.candidates_in_all)}</span></p>
      )}
      {problem && <p role="alert">{problem}</p>}
    </>
  );
}

const Group = ({ title, sums }: { title: string; sums: Record<string, Sum> }) => <Rows title={title} rows={Object.entries(sums)} />;

const Rows = ({ title, rows }: { title: string; rows: [string, Sum][] }) => (
  <section><h2>{title}</h2>
    <div class="scroll" tabIndex={0} role="region" aria-label={title}><table>
      <thead><tr><th><span class="hidden">what</span></th><th class="n">calls</th><th class="n">in</th><th class="n">cached</th><th class="n">out</th><th class="n">price</th></tr></thead>
      <tbody>{rows.map(([name, sum]) => (
        <tr key={name}><th scope="row">{name || "–"}</th><td class="n">{count(sum.calls)}</td><td class="n">{count(sum.prompt_tokens)}</td>
          <td class="n">{count(sum.cached_tokens)}</td><td class="n">{count(sum.answer_tokens)}</td><td class="n">{price(sum)}</td></tr>
      ))}</tbody></table></div>
  </section>
);
