// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { type Candidate as Row, type CandidateDetail, type Exchange, getCandidate, getCandidates } from "../api";
import { count, factor, shownDesign, speedup } from "../format";
import { Show, useLoaded } from "../loaded";
import { Code } from "../parts/code";
import { isWhole, Recorded } from "../parts/recorded";
import { Trail, VerdictMark } from "../parts/small";
import { VerdictView } from "../parts/verdict";

export function Candidate({ run, number }: { run: string; number: number }) {
  const loaded = useLoaded(() => getCandidate(run, number), `${run} ${number}`);
  const rows = useLoaded(() => getCandidates(run), run);
  useEffect(() => void (document.title = `#${number} · run ${run} · cuco`), [run, number]);
  return (
    <>
      <Trail><a href={`/runs/${run}`}>{run}</a><span aria-current="page">#{number}</span></Trail>
      <Show of={loaded}>{(candidate) => <Detail run={run} candidate={candidate} rows={rows.value?.list ?? []} />}</Show>
    </>
  );
}

type Against = "seed" | "parent" | "nothing";

function Detail({ run, candidate, rows }: { run: string; candidate: CandidateDetail; rows: Row[] }) {
  const seed = candidate.number === 0;
  const [against, setAgainst] = useState<Against>(seed ? "nothing" : "seed");
  const before = against === "seed" ? candidate.seed_files : against === "parent" ? candidate.parent_files : undefined;
  const own = rows[candidate.number];
  const first = useLoaded(() => getCandidate(run, 0), `${run} ${seed}`);
  // The seed's shapes, those of closer looks first.
  const seedShapes = seed ? [] : (first.value?.verdicts ?? []).slice().reverse().flatMap((verdict) => verdict.outcome.shapes ?? []);
  return (
    <>
      <h1>#{candidate.number} <span class="design">{seed ? "the seed" : shownDesign(candidate.design)}</span> {own && <VerdictMark verdict={own.verdict} />}</h1>
      <p class="lead">{[candidate.proposer && `by ${candidate.proposer}`, candidate.phase, candidate.operation, candidate.island && `island ${candidate.island}`, `code ${candidate.code_hash}`].filter(Boolean).join(" · ")}
        {own && speedup(own) !== undefined && !seed && <> · <b class="good">{factor(speedup(own))}</b> against the seed</>}</p>
      {candidate.because && <blockquote>{candidate.because}</blockquote>}
      <Lineage run={run} number={candidate.number} rows={rows} />
      <section><h2>Verdicts</h2>
        {candidate.verdicts.length === 0 ? <p class="soft">Not judged yet.</p>
          : candidate.verdicts.slice().reverse().map((verdict) => <VerdictView key={verdict.rung} verdict={verdict} seed={seedShapes} />)}
      </section>
      <section><h2>Rank by rank</h2><When run={run} candidate={candidate} /></section>
      <section><h2>Code</h2>
        {!seed && (
          <div class="choice" role="radiogroup" aria-label="Show changes against">
            {(["seed", "parent", "nothing"] as Against[]).map((one) => (
              <label key={one}><input type="radio" name="against" checked={against === one} onChange={() => setAgainst(one)} disabled={one === "parent" && candidate.parent === null} />
                {one === "nothing" ? "the whole program" : one === "parent" ? `against its parent${candidate.parent === null ? "" : ` #${candidate.parent}`}` : "against the seed"}</label>
            ))}
          </div>
        )}
        <Code files={candidate.files} before={before} beforeName={against === "parent" ? `#${candidate.parent}` : "seed"} name={`#${candidate.number}`} />
      </section>
      {candidate.exchanges.length > 0 && <section><h2>What was asked and answered</h2>{candidate.exchanges.map((exchange, index) => <ExchangeView key={index} exchange={exchange} />)}</section>}
    </>
  );
}

/** Only what passed on virtual GPUs is timed there, and so has a timeline. */
function When({ run, candidate }: { run: string; candidate: CandidateDetail }) {
  const quick = candidate.verdicts[0], last = candidate.verdicts[candidate.verdicts.length - 1];
  if (last === undefined) return <p class="soft">It was not judged yet.</p>;
  if (last.verdict !== "scored") return <p class="soft">It did not pass: there is no timeline of what was never timed.</p>;
  if (!last.predicted) return <p class="soft">It was measured: timelines are recorded on virtual GPUs only.</p>;
  return <Recorded run={run} number={candidate.number} recorded={candidate.timeline} whole={isWhole(candidate)} seconds={quick?.wall_seconds} />;
}

/** From the seed to this one, and what came of it. */
function Lineage({ run, number, rows }: { run: string; number: number; rows: Row[] }) {
  const chain: Row[] = [];
  const seen = new Set<number>();
  for (let at: number | null = number; at !== null && rows[at] && !seen.has(at); at = rows[at]!.parent) {
    seen.add(at);
    chain.unshift(rows[at]!);
  }
  const children = rows.filter((row) => row.parent === number);
  if (chain.length < 2 && children.length === 0) return null;
  return (
    <section class="lineage"><h2>Lineage</h2>
      <ol>
        {chain.map((row) => (
          <li key={row.number} class={row.number === number ? "here" : ""}>
            <a href={`/runs/${run}/candidates/${row.number}`} aria-current={row.number === number ? "page" : undefined}>#{row.number}</a>
            <span>{row.number === 0 ? "the seed" : shownDesign(row.design)}</span><b>{row.number === 0 ? "1.00x" : factor(speedup(row))}</b>
          </li>
        ))}
      </ol>
      {children.length > 0 && <p class="soft">{count(children.length)} made from it: {children.slice(0, 24).map((row) => <a key={row.number} href={`/runs/${run}/candidates/${row.number}`}>#{row.number}{" "}</a>)}{children.length > 24 && "…"}</p>}
      {chain.length > 1 && <p><a href={`/runs/${run}/compare/${chain[chain.length - 2]!.number}/${number}`}>Compare with its parent</a></p>}
    </section>
  );
}

const ExchangeView = ({ exchange }: { exchange: Exchange }) => (
  <details>
    <summary>{exchange.role || "question"} to {exchange.model} <span class="soft">{count(exchange.prompt_tokens)} tokens in, {count(exchange.answer_tokens)} out, {exchange.dollars === null ? "price unknown" : `$${exchange.dollars.toFixed(4)}`}</span></summary>
    <h3>Question</h3><pre>{exchange.prompt}</pre><h3>Answer</h3><pre>{exchange.answer}</pre>
  </details>
);
