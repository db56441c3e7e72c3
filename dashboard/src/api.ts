// SPDX-License-Identifier: Apache-2.0
// What the server tells, and how to ask it. The other side is src/dashboard/.

export interface Best {
  candidate: number;
  seconds: number;
  baseline_seconds: number;
  bound_seconds: number;
  predicted: boolean;
  hardware: string;
  design: string;
  error?: string;
}

export interface RunHead {
  run: string;
  state: string;
  workload: string;
  target: string;
  hardware: string;
  seed: number;
  started_ms: number;
  last_ms: number;
  sequence: number;
  candidates: number;
  best?: Best;
}

export interface Step { step: string; ok: boolean; detail: string }
export interface Plan {
  number: number; parent?: number; design: string; reason: string; expected_gain: number; preconditions: string[];
  tries: number[];
}
export interface RunDetail extends RunHead {
  asked: [string, string][];
  steps: Step[];
  plans: Plan[];
  notes: string[];
  judge_seconds: number;
}

export interface Candidate {
  number: number;
  parent: number | null;
  island: string;
  phase: string;
  proposer: string;
  design: string;
  fidelity: string;
  verdict: string;
  seconds: number;
  baseline: number;
  bound: number;
  predicted: boolean;
  text: string;
}

/** Texts that repeat are sent once: rows have their places in `words`. */
interface CandidateRows { sequence: number; best: number | null; state: string; words: string[]; rows: Row[] }
type Row = [number, number | null, number, number, number, number, number, number, number, number, number, number, string];

export interface Candidates { sequence: number; best: number | null; state: string; list: Candidate[] }

function unpacked(packed: CandidateRows): Candidates {
  const word = (index: number) => packed.words[index] ?? "";
  const list = packed.rows.map((row): Candidate => ({
    number: row[0], parent: row[1], island: word(row[2]), phase: word(row[3]), proposer: word(row[4]),
    design: word(row[5]), fidelity: word(row[6]), verdict: word(row[7]), seconds: row[8], baseline: row[9],
    bound: row[10], predicted: row[11] !== 0, text: row[12],
  }));
  return { sequence: packed.sequence, best: packed.best, state: packed.state, list };
}

export interface Site { file?: string; line?: number; kernel?: string; rank?: number }
export interface ShapeTime {
  shape: string; seconds: number; baseline_seconds?: number; bound_seconds?: number; limited_by?: string;
  samples?: number[]; speedup?: { low: number; high: number } | [number, number];
  limits?: { phase: string; seconds: number }[]; phases?: { phase: string; seconds: number }[];
  hot_spots?: { where: Site; share: number; what: string }[];
  scale_model?: { factor: number; smaller_factor?: number; smaller_seconds?: number };
}
export interface Verdict {
  rung: string; verdict: string; summary: string; explanation: string; predicted: boolean;
  wall_seconds: number; outcome: { shapes?: ShapeTime[]; checked_shapes?: number; checked_hidden_shapes?: number;
    checked_schedules?: number; left_out?: string[]; warnings?: string[]; [key: string]: unknown };
}
export interface SourceFile { path: string; text: string }
export interface Exchange {
  role: string; model: string; prompt: string; answer: string; prompt_tokens: number; answer_tokens: number;
  seconds: number; dollars: number | null;
}
export interface CandidateDetail {
  number: number; design: string; proposer: string; island: string; phase: string; because: string; operation: string;
  code_hash: string; parent: number | null; inspirations: number[]; plan: number | null;
  verdicts: Verdict[]; files: SourceFile[]; seed_files: SourceFile[]; parent_files: SourceFile[];
  exchanges: Exchange[];
  timeline: boolean;
}

export interface Stretch { begin: number; end: number; what: string }
export interface Lane { activity: string; stretches: [number, number, string][] }
export interface ProgramTimeline { program: string; ranks: { rank: number; lanes: Lane[] }[] }
export interface Timeline { candidate: number; programs: ProgramTimeline[] }
/** What is being recorded, or was last. */
export interface Recording { run: string; candidate: number; state: "running" | "done" | "failed"; seconds: number; problem: string }

export interface Sum {
  calls: number; prompt_tokens: number; answer_tokens: number; cached_tokens: number; reasoning_tokens: number;
  lost_tokens: number; unpriced_calls: number; seconds: number; dollars?: number;
}
export interface Cost {
  total: Sum; models: Record<string, Sum>; roles: Record<string, Sum>; candidates: (Sum & { candidate: number | null })[];
  candidates_in_all: number; cut_off_calls: number;
}
/** How much communication each profiled candidate exposes: its number, its bin, the share. */
export interface Archive { bins: string[]; exposed: [number, string, number][] }
export interface Lesson {
  situation: string; move: string; tries: number; correct: number; expected: number; confidence: number;
  measured: boolean; example: string;
}

export class Problem extends Error {}

async function ask<T>(path: string, method: "GET" | "POST"): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, { method, headers: { Accept: "application/json" } });
  } catch {
    throw new Problem("The server does not answer. Is cuco serve still running?");
  }
  if (!answer.ok) {
    const body = (await answer.json().catch(() => ({}))) as { error?: string };
    throw new Problem(body.error ?? `The server answered with status ${answer.status}.`);
  }
  return (await answer.json()) as T;
}

const get = <T>(path: string) => ask<T>(path, "GET");
const runPath = (run: string) => `/api/runs/${encodeURIComponent(run)}`;

export const getRuns = () => get<RunHead[]>("/api/runs");
export const getRun = (run: string) => get<RunDetail>(runPath(run));
export const getCandidates = async (run: string) => unpacked(await get<CandidateRows>(`${runPath(run)}/candidates`));
export const getCandidate = (run: string, number: number) =>
  get<CandidateDetail>(`${runPath(run)}/candidates/${number}`);
const timelinePath = (run: string, number: number) => `${runPath(run)}/candidates/${number}/timeline`;
export const getTimeline = (run: string, number: number) => get<Timeline>(timelinePath(run, number));
/** Only one at a time; getRecording() tells how it goes. */
export const record = (run: string, number: number) => ask<Recording>(timelinePath(run, number), "POST");
export const getRecording = () => get<Recording | null>("/api/recording");
/** Candidates from the `first` one of those on that cost something. */
export const getCost = (run: string, first = 0) => get<Cost>(`${runPath(run)}/cost/${first}`);
export const getArchive = (run: string) => get<Archive>(`${runPath(run)}/archive`);
export const getKnowledge = () => get<{ lessons: Lesson[] }>("/api/knowledge");

/** Calls back with every change after `sequence`; the browser reconnects by itself. Returns how to end it. */
export function follow(run: string, sequence: number, onChange: (change: Candidates) => void,
                       onState: (live: boolean) => void): () => void {
  const source = new EventSource(`${runPath(run)}/events?after=${sequence}`);
  source.addEventListener("change", (event) =>
    onChange(unpacked(JSON.parse((event as MessageEvent<string>).data) as CandidateRows)));
  source.addEventListener("open", () => onState(true));
  source.addEventListener("error", () => onState(false));
  return () => source.close();
}
