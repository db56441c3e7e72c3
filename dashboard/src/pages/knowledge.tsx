// SPDX-License-Identifier: Apache-2.0
import { useEffect } from "preact/hooks";
import { getKnowledge, type Lesson } from "../api";
import { factor } from "../format";
import { Empty, Show, useLoaded } from "../loaded";

export function KnowledgePage() {
  const known = useLoaded(getKnowledge, "knowledge");
  useEffect(() => void (document.title = "Knowledge · cuco"), []);
  return (
    <>
      <h1>What runs have taught</h1>
      <p class="lead">For each situation the moves that were tried there, and the speed-up over the seed to expect.</p>
      <Show of={known}>{({ lessons }) => (lessons.length === 0
        ? <Empty title="Nothing has been learnt yet"><p>Every finished run teaches: <code>cuco optimize WORKLOAD</code></p></Empty>
        : <Situations lessons={lessons} />)}</Show>
    </>
  );
}

function Situations({ lessons }: { lessons: Lesson[] }) {
  const situations = new Map<string, Lesson[]>();
  for (const lesson of lessons) situations.set(lesson.situation, [...(situations.get(lesson.situation) ?? []), lesson]);
  return (
    <>
      {[...situations].map(([situation, list]) => (
        <section key={situation}><h2>{situation}</h2>
          <div class="scroll" tabIndex={0} role="region" aria-label={situation}><table class="lessons">
            <thead><tr><th>move</th><th class="n">to expect</th><th class="n">tried</th><th class="n">correct</th><th class="n">sure</th><th>best example</th></tr></thead>
            <tbody>{list.slice().sort((a, b) => b.expected - a.expected).map((lesson) => (
              <tr key={lesson.move}><td>{lesson.move}</td><td class="n">{factor(lesson.expected)} {lesson.measured ? "measured" : "predicted"}</td>
                <td class="n">{lesson.tries}</td><td class="n">{lesson.correct}</td><td class="n">{Math.round(100 * lesson.confidence)} %</td><td class="soft">{lesson.example}</td></tr>
            ))}</tbody></table></div>
        </section>
      ))}
    </>
  );
}
