// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them.

export function time(seconds: number): string {
  if (!(seconds > 0)) return "–";
  const units: [number, string][] = [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]];
  for (const [size, unit] of units) {
    if (seconds >= size * 0.9995) return `${Number((seconds / size).toPrecision(3))} ${unit}`;
  }
  return `${(seconds / 1e-9).toPrecision(3)} ns`;
}

export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(Math.round(seconds) / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds) % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const factor = (value: number | undefined) => (value && value > 0 ? `${value.toFixed(2)}x` : "–");
/** "1 shape", "2 shapes". */
export const some = (number: number | undefined, what: string) => `${number ?? 0} ${what}${number === 1 ? "" : "s"}`;
export const count = (value: number) => value.toLocaleString("en");
export const date = (milliseconds: number) =>
  new Date(milliseconds).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** The last folder of a path. */
export function nameOf(workload: string): string {
  const parts = workload.split("/").filter((part) => part !== "");
  return parts[parts.length - 1] ?? workload;
}

/** As people read it: of a program that leaves communication to the host, what its kernels do. */
export function shownDesign(design: string): string {
  const rest = design.startsWith(HOST) ? design.slice(HOST.length) : "";
  return rest === "" ? design : rest;
}
const HOST = "host · host-ordered · global barrier · block · whole · ";

/** Whether its time is of full shapes. A gain on small ones says little beside it. */
export const isFull = (candidate: { fidelity: string }) => candidate.fidelity === "scaled" || candidate.fidelity === "final";

/** Who was looked at more closely counts for more; then who is faster. */
export function isBetter(candidate: Judged, than: Judged | undefined): boolean {
  const gain = speedup(candidate) ?? 0;
  if (gain <= 0 || !than) return gain > 0;
  return isFull(candidate) === isFull(than) ? gain > (speedup(than) ?? 0) : isFull(candidate);
}
interface Judged { fidelity: string; seconds: number; baseline: number }

export function speedup(candidate: { seconds: number; baseline: number }): number | undefined {
  return candidate.seconds > 0 && candidate.baseline > 0 ? candidate.baseline / candidate.seconds : undefined;
}
