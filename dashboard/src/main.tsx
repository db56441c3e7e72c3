// SPDX-License-Identifier: Apache-2.0
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Empty } from "./loaded";
import { Candidate } from "./pages/candidate";
import { Compare } from "./pages/compare";
import { CostPage } from "./pages/cost";
import { KnowledgePage } from "./pages/knowledge";
import { Run } from "./pages/run";
import { Runs } from "./pages/runs";
import { go, usePath } from "./router";
import { ThemeButton } from "./theme";

function Page({ path }: { path: string }) {
  const parts = path.split("/").filter((part) => part !== "").map(decodeURIComponent);
  const number = (text: string | undefined) => (text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined);
  if (parts.length === 0) return <Runs />;
  if (parts[0] === "knowledge" && parts.length === 1) return <KnowledgePage />;
  if (parts[0] === "runs" && parts[1] !== undefined) {
    const run = parts[1];
    if (parts.length === 2) return <Run key={run} run={run} />;
    if (parts[2] === "cost" && parts.length === 3) return <CostPage run={run} />;
    const first = number(parts[3]);
    if (parts[2] === "candidates" && parts.length === 4 && first !== undefined)
      return <Candidate key={path} run={run} number={first} />;
    const second = number(parts[4]);
    if (parts[2] === "compare" && first !== undefined && second !== undefined)
      return <Compare key={path} run={run} first={first} second={second} />;
  }
  return <Empty title="There is no such page"><p><a href="/">All runs</a></p></Empty>;
}

const KEYS: [string, string][] = [
  ["/", "filter the candidates"], ["↑ ↓", "move in the table"], ["Enter", "open the candidate"], ["space", "choose it for a comparison"],
  ["b", "open the best candidate"], ["r", "all runs"], ["?", "show or hide this"],
];

function Keys({ close }: { close: () => void }) {
  return (
    <div class="keys" role="dialog" aria-label="Keys">
      <h2>Keys</h2>
      <dl>{KEYS.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <button type="button" onClick={close}>Close</button>
    </div>
  );
}

function App() {
  const path = usePath();
  const [help, setHelp] = useState(false);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const typing = (event.target as Element).closest?.("input, select, textarea, .cm-content");
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") setHelp(false);
      if (typing) return;
      if (event.key === "?") setHelp((shown) => !shown);
      if (event.key === "r") go("/");
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  return (
    <>
      <a class="skip" href="#content">Skip to the content</a>
      <header class="top">
        <a href="/" class="brand"><img src="/icon.svg" alt="" width="22" height="22" />cuco</a>
        <nav aria-label="Main">
          <a href="/" aria-current={path === "/" ? "page" : undefined}>Runs</a>
          <a href="/knowledge" aria-current={path === "/knowledge" ? "page" : undefined}>Knowledge</a>
        </nav>
        <span class="grow" />
        <button type="button" class="plain" onClick={() => setHelp(!help)} aria-label="Keys" title="Keys (?)">?</button>
        <ThemeButton />
      </header>
      <main id="content" tabIndex={-1}><Page path={path} /></main>
      {help && <Keys close={() => setHelp(false)} />}
    </>
  );
}

render(<App />, document.getElementById("app")!);
