#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An adversary of our own: mutates honest candidates, and counts the wrong ones that the judge accepts.

    generate.py CUCO [--sample N] [--pairs N] [--deep SEEDS] [--jobs N] [--results FILE] [BASE...]
    generate.py CUCO --list [BASE...]      which mutants there are
    generate.py CUCO --show NAME           what one of them changes, as a diff

A mutant that does not build, or is the same program to the compiler, does not count. One that is
accepted is judged again with SEEDS other seeds: other inputs, shapes and schedules. If one of them
rejects it, some legal schedule makes it wrong and the judge missed it. What survives all of them is
listed too: it is right as far as anybody saw, or what the next check must find.

Results are appended to FILE as they come; mutants that are in it are not judged again. BASE is part
of a name, gemm_allgather/fused_lsa. CUCO_TENTH=K judges the sample of that tenth. Exits with 1 if
less than 98 % of the wrong mutants were rejected.
"""
import argparse
import collections
import concurrent.futures
import difflib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import mutants

ROOT = pathlib.Path(__file__).resolve().parents[3]
ENOUGH = 0.98
NO_PROGRAM = {"build-failed", "screen-rejected"}
TIMEOUT = 900  # seconds; a verdict that takes longer is a failure of the judge


def judge(cuco, mutant, seed=None):
    """The verdict's word and its reason."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "mutant.cu"
        path.write_text(mutant.text)
        command = [cuco, "--json", "judge", ROOT / "workloads" / mutant.workload, path, "--fidelity", "final", "--small"]
        command += [] if seed is None else ["--seed", str(seed)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return "no-verdict", f"none within {TIMEOUT} s"
    try:
        outcome = json.loads(run.stdout)
    except ValueError:
        return "no-verdict", (run.stderr or run.stdout).strip()[-300:]
    return outcome["verdict"], outcome.get("summary", "").split("\n")[0][:200]


def verdict_on(cuco, mutant, deep):
    verdict, reason = judge(cuco, mutant)
    record = {"mutant": mutant.name, "story": mutant.story, "verdict": verdict, "reason": reason, "missed": False}
    for seed in range(1, deep + 1) if verdict == "scored" else ():
        later, why = judge(cuco, mutant, seed)
        if later != "scored":
            record |= {"missed": True, "reason": f"with seed {seed}: {later}: {why}"}
            break
    return record


def chosen(everything, options):
    if options.sample is None:
        return everything
    tenth = int(os.environ.get("CUCO_TENTH", "0"))
    return random.Random(1000 + tenth).sample(everything, min(options.sample, len(everything)))


def summary(records, out):
    verdicts = collections.Counter(r["verdict"] for r in records)
    by_operator = collections.defaultdict(collections.Counter)
    for r in records:
        kind = ("no program" if r["verdict"] in NO_PROGRAM else "missed" if r["missed"]
                else "survives" if r["verdict"] == "scored" else "rejected")
        by_operator[r["story"].split(" ", 1)[0]][kind] += 1
    print(f"{'operator':16} {'rejected':>8} {'missed':>8} {'survives':>8} {'no program':>10}", file=out)
    for operator, row in sorted(by_operator.items()):
        print(f"{operator:16} {row['rejected']:8} {row['missed']:8} {row['survives']:8} {row['no program']:10}", file=out)
    rejected = sum(row["rejected"] for row in by_operator.values())
    missed = sum(row["missed"] for row in by_operator.values())
    print("verdicts: " + ", ".join(f"{n} {v}" for v, n in verdicts.most_common()), file=out)
    for r in records:
        if r["missed"] or r["verdict"] == "no-verdict":
            print(f"MISSED {r['mutant']}: {r['story']}\n       {r['reason']}", file=out)
    for r in records:
        if r["verdict"] == "scored" and not r["missed"]:
            print(f"survives {r['mutant']}: {r['story']}", file=out)
    share = rejected / (rejected + missed) if rejected + missed else 1.0
    print(f"{rejected} of {rejected + missed} wrong mutants rejected ({100 * share:.1f} %)", file=out)
    return share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cuco")
    parser.add_argument("only", nargs="*", metavar="BASE")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--deep", type=int, default=0, metavar="SEEDS")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--show", metavar="NAME")
    options = parser.parse_intermixed_args()
    everything = list(mutants.all_mutants(ROOT, options.pairs, options.only))
    if options.list:
        print("\n".join(f"{m.name}  {m.story}" for m in everything))
        return 0
    if options.show:
        texts = {name: text for name, _, text in mutants.bases(ROOT)}
        for m in (m for m in everything if m.name == options.show):
            sys.stdout.writelines(difflib.unified_diff(texts[m.base].splitlines(True), m.text.splitlines(True), m.base, m.name))
        return 0

    known = {}
    if options.results and options.results.exists():
        known = {r["mutant"]: r for r in map(json.loads, options.results.read_text().splitlines())}
    wanted = chosen(everything, options)
    records = [known[m.name] for m in wanted if m.name in known]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(verdict_on, options.cuco, m, options.deep) for m in wanted if m.name not in known]
        for done in concurrent.futures.as_completed(running):
            record = done.result()
            records.append(record)
            if options.results:
                with options.results.open("a") as file:
                    file.write(json.dumps(record) + "\n")
            print(f"[{len(records)}/{len(wanted)}] {record['verdict']:16} {record['mutant']}  {record['story']}", flush=True)
    return 0 if summary(records, sys.stdout) >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
