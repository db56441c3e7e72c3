#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From an edit to the virtual verdict: where the time goes, stage by stage.

  bench/judge/run.py [--cuco build/release/bin/cuco] [--repeats 3] [--candidate FILE] [--host]

Each repeat edits the candidate (a comment with a new number, so that nothing comes from the build
cache; with --host a constant of the host's half, so that the whole is built) and has it judged on the
check shapes of gemm_allgather. The framework's own share is what is neither the compiler, nor the
simulation of the candidate, nor the oracle's arithmetic.
"""
import argparse, json, os, pathlib, statistics, subprocess, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# By whom the stages of `cuco judge --json` are spent; what is not named is the framework's own.
OTHERS = {
    "build": "compiler",
    "set-up": "candidate: loading, cuco_setup",
    "run": "candidate: simulation",
    "inputs": "oracle: inputs, with placing them",
    "check": "oracle: fp64 reference, with fetching",
}


def judge(cuco, workload, text, folder):
    source = folder / "edited.cu"
    source.write_text(text)
    begin = time.perf_counter()
    done = subprocess.run([cuco, "judge", "--own", "--json", "--fidelity", "check", workload, source],
                          capture_output=True, text=True, check=True)
    return time.perf_counter() - begin, json.loads(done.stdout)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cuco", default=ROOT / "build/release/bin/cuco")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--workload", default=ROOT / "workloads/gemm_allgather")
    options.add_argument("--candidate")
    options.add_argument("--host", action="store_true")
    given = options.parse_args()
    text = pathlib.Path(given.candidate or pathlib.Path(given.workload) / "program.cu").read_text()
    totals, rows = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(given.repeats):
            mark = "// cuco: evolve end"
            number = f"{time.time_ns()}{repeat}"
            edit = f"[[maybe_unused]] constexpr auto kEdit{number} = 0;" if given.host else f"// edit {number}"
            head, tail = text.rsplit(mark, 1)
            edited = f"{head}{edit}\n{mark}{tail}"
            total, answer = judge(given.cuco, given.workload, edited, pathlib.Path(folder))
            totals.append(total)
            stages = answer["stages"]
            for stage in stages:
                rows.setdefault(stage, []).append(stages[stage])
            rows.setdefault("the rest", []).append(total - sum(stages.values()))
    total = statistics.median(totals)
    load = os.getloadavg()[0]
    print(f"{pathlib.Path(given.workload).name}, check shapes, median of {given.repeats}; "
          f"{os.cpu_count()} cores, load {load:.1f}\n")
    print(f"{'stage':<16} {'seconds':>8} {'share':>7}  spent by")
    own = 0.0
    for stage, seconds in sorted(rows.items(), key=lambda row: -statistics.median(row[1])):
        median = statistics.median(seconds)
        if stage not in OTHERS:
            own += median
        print(f"{stage:<16} {median:8.3f} {100 * median / total:6.1f} %  {OTHERS.get(stage, 'framework')}")
    print(f"{'edit to verdict':<16} {total:8.3f}")
    print(f"\nframework's own: {own:.3f} s, {100 * own / total:.1f} %")


main()
