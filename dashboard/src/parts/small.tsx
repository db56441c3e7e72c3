// SPDX-License-Identifier: Apache-2.0
// Small things that several pages show.
import type { ComponentChildren } from "preact";

export const Tile = ({ value, label, good }: { value: string; label: string; good?: boolean }) => (
  <div class={good ? "tile good" : "tile"}><b>{value}</b><span>{label}</span></div>
);

export function VerdictMark({ verdict }: { verdict: string }) {
  if (verdict === "") return <span class="badge">not judged</span>;
  if (verdict === "scored") return <span class="badge ok">✓ correct</span>;
  return <span class="badge bad">✗ {verdict.replaceAll("-", " ")}</span>;
}

export const StateMark = ({ state }: { state: string }) => (
  <span class={state === "running" ? "badge live" : "badge"}>{state === "running" ? "● running" : state}</span>
);

/** Where one is, from the runs downwards. */
export const Trail = ({ children }: { children: ComponentChildren }) => (
  <nav class="trail" aria-label="Where you are"><a href="/">Runs</a>{children}</nav>
);

export const predicted = (is: boolean) => (is ? "predicted" : "measured");
