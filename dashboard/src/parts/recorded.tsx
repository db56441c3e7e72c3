// SPDX-License-Identifier: Apache-2.0
// The timeline of a candidate beside the seed's: shown where it was recorded, else recorded on request.
import { useEffect, useState } from "preact/hooks";
import { type CandidateDetail, getRecording, getTimeline, record, type Recording, type Timeline } from "../api";
import { duration } from "../format";
import { Show, useLoaded } from "../loaded";
import { type Shown, TimelineView } from "./timeline";

/** What a timeline has, under names that tell candidates apart. */
export function shown(timeline: Timeline): Shown[] {
  return timeline.programs.map((program) => ({ ...program, title: program.program === "candidate" ? `#${timeline.candidate}` : program.program }));
}

interface Props { run: string; number: number; recorded: boolean; whole?: boolean; seconds?: number }

/** A program with main() has no iterations: all of it is timed as one. */
export const isWhole = (candidate: CandidateDetail) => candidate.verdicts.some((verdict) => verdict.outcome.shapes?.[0]?.shape === "the whole program");

/** `seconds`: about how long recording takes, if that is known. */
export function Recorded({ run, number, recorded, whole = false, seconds }: Props) {
  const [version, setVersion] = useState(0);
  if (!recorded && version === 0) return <RecordButton run={run} number={number} seconds={seconds} done={() => setVersion(1)} />;
  return <TimelineOf run={run} number={number} whole={whole} />;
}

function TimelineOf({ run, number, whole }: { run: string; number: number; whole: boolean }) {
  const timeline = useLoaded(() => getTimeline(run, number), `${run} ${number}`);
  return (
    <>
      <Show of={timeline}>{(value) => <TimelineView programs={shown(value)} label={number === 0 ? "the seed" : `seed and #${number}`} />}</Show>
      <p class="soft">{whole ? "All device work" : "One iteration"}{number === 0 ? "" : " of each on the same scale"}{whole ? "" : ", on a small shape"}. Where sends run below a kernel, communication is hidden.
        {whole && " What makes windows ready first and gives them back in the end is shown, but not counted in its time."}</p>
    </>
  );
}

function RecordButton({ run, number, seconds, done }: { run: string; number: number; seconds?: number; done: () => void }) {
  const [state, setState] = useState<Recording>();
  const [problem, setProblem] = useState<string>();
  const mine = (one: Recording | null) => one !== null && one.run === run && one.candidate === number ? one : undefined;
  const take = (one: Recording | undefined) => {
    setState(one);
    if (one?.state === "done") done();
    if (one?.state === "failed") setProblem(one.problem);
  };
  // Somebody may have begun it on another page.
  useEffect(() => void getRecording().then((one) => mine(one)?.state === "running" && setState(mine(one)!), () => {}), []);
  const running = state?.state === "running";
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => void getRecording().then((one) => take(mine(one)), (error: Error) => setProblem(error.message)), 500);
    return () => clearInterval(timer);
  }, [running]);
  const begin = () => {
    setProblem(undefined);
    record(run, number).then(take, (error: Error) => setProblem(error.message));
  };
  return (
    <div class="record">
      <p class="bar">
        <button type="button" class="button" disabled={running} onClick={begin}>{running ? "Recording …" : "Record its timeline"}</button>
        <span class="soft" role="status">
          {running
            ? `${duration(state.seconds)}${seconds ? ` of about ${duration(seconds)}` : ""}`
            : `${number === 0 ? "The seed is" : "It and the seed are"} judged once more${seconds ? `: about ${duration(seconds)}` : ""}, on virtual GPUs and in the sandbox.`}
        </span>
      </p>
      {running && (seconds
        ? <progress max={seconds} value={Math.min(state.seconds, 0.97 * seconds)} aria-label="Recording" />
        : <progress aria-label="Recording" />)}
      {problem && <p class="problem" role="alert"><b>It was not recorded.</b> {problem}</p>}
    </div>
  );
}
