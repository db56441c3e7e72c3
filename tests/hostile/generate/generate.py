#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An adversary of our own: mutates honest candidates, and counts the wrong ones that the judge accepts.

    generate.py CUCO [--sample N] [--pairs N] [--deep SEEDS] [--jobs N] [--results FILE] [BASE...]
    generate.py CUCO --again [--sample N] [BASE...]   those that were rejected before
    generate.py CUCO --list [BASE...]                 which mutants there are
    generate.py CUCO --show KEY                       what one of them changes, as a diff

A mutant that does not build, or is the same program to the compiler, does not count. One that the
judge accepts is missed, unless harmless.tsv says why it is right on every legal schedule: a person
has read it. --deep judges accepted ones again with SEEDS other seeds (other inputs, shapes and
schedules); one that some seed rejects is missed whatever the list says.

Verdicts are appended to FILE as they come; mutants that are in it are not judged again. verdicts.tsv
holds those of the judge as it is. BASE is part of a name, gemm_allgather/fused_lsa. CUCO_TENTH=K
chooses the sample. Exits with 1 if less than 98 % of the wrong mutants were rejected, with --again
if one was accepted.
"""
import argparse
import collections
import concurrent.futures
import difflib
import fnmatch
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import mutants

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
ENOUGH = 0.98
NO_PROGRAM = {"build-failed", "screen-rejected"}
ACCEPTED = "scored"
TIMEOUT = 900  # seconds; a verdict that takes longer is a failure of the judge


def judge(cuco, mutant, seed=None):
    """The verdict's word and its reason."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "mutant.cu"
        path.write_text(mutant.text)
        command = [cuco, "--json", "judge", ROOT / "workloads" / mutant.workload, path, "--fidelity", "final", "--small", "--jobs", "1"]
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
    for seed in range(1, deep + 1) if verdict == ACCEPTED else ():
        later, why = judge(cuco, mutant, seed)
        if later != ACCEPTED:
            return Record(mutant.key, "missed", f"with seed {seed}: {later}: {why}")
    return Record(mutant.key, verdict, reason)


class Record(collections.namedtuple("Record", "key verdict reason")):
    def line(self):
        return "\t".join(field.replace("\t", " ").replace("\n", " ") for field in self) + "\n"

    def kind(self, harmless):
        if self.verdict in NO_PROGRAM:
            return "no program"
        if self.verdict != ACCEPTED:
            return "missed" if self.verdict in ("missed", "no-verdict") else "rejected"
        return "harmless" if any(fnmatch.fnmatchcase(self.key, pattern) for pattern in harmless) else "missed"


def table(path, fields):
    """The rows of a file of tab-separated fields; lines that begin with # are for people."""
    if not path.exists():
        return []
    lines = (line for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return [(line.split("\t") + [""] * fields)[:fields] for line in lines]


def chosen(everything, options):
    if options.again:
        before = {key for key, verdict, _ in table(HERE / "verdicts.tsv", 3)
                  if Record(key, verdict, "").kind(()) == "rejected"}
        everything = [m for m in everything if m.key in before]
        assert everything, "verdicts.tsv names none of these mutants"
    if options.sample is None:
        return everything
    tenth = int(os.environ.get("CUCO_TENTH", "0"))
    return random.Random(1000 + tenth).sample(everything, min(options.sample, len(everything)))


def summary(records, out):
    """Prints it; returns the share of the wrong mutants that were rejected."""
    harmless = dict(table(HERE / "harmless.tsv", 2))
    verdicts = collections.Counter(r.verdict for r in records)
    by_operator = collections.defaultdict(collections.Counter)
    for r in records:
        operator = "two mistakes" if " + " in r.key else r.key.split(" ")[2].rstrip(":")
        by_operator[operator][r.kind(harmless)] += 1
    kinds = ("rejected", "missed", "harmless", "no program")
    print(f"{'operator':16}" + "".join(f"{kind:>11}" for kind in kinds), file=out)
    for operator, row in sorted(by_operator.items()):
        print(f"{operator:16}" + "".join(f"{row[kind]:11}" for kind in kinds), file=out)
    total = sum(by_operator.values(), collections.Counter())
    print(f"{'all':16}" + "".join(f"{total[kind]:11}" for kind in kinds), file=out)
    print("verdicts: " + ", ".join(f"{n} {v}" for v, n in verdicts.most_common()), file=out)
    for r in records:
        if r.kind(harmless) == "missed":
            print(f"MISSED {r.key}: {r.verdict} {r.reason}", file=out)
    wrong = total["rejected"] + total["missed"]
    share = total["rejected"] / wrong if wrong else 1.0
    print(f"{total['rejected']} of {wrong} wrong mutants rejected ({100 * share:.1f} %)", file=out)
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
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--show", metavar="KEY")
    options = parser.parse_intermixed_args()
    everything = list(mutants.all_mutants(ROOT, options.pairs, options.only))
    if options.list:
        print("\n".join(f"{m.key}  ({m.story})" for m in everything))
        return 0
    if options.show:
        texts = {name: text for name, _, text in mutants.bases(ROOT)}
        for m in (m for m in everything if m.key == options.show):
            sys.stdout.writelines(difflib.unified_diff(texts[m.base].splitlines(True), m.text.splitlines(True), m.base, m.key))
        return 0

    wanted = chosen(everything, options)
    known = {key: Record(key, verdict, reason) for key, verdict, reason in table(options.results, 3)} if options.results else {}
    records = [known[m.key] for m in wanted if m.key in known]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(verdict_on, options.cuco, m, options.deep) for m in wanted if m.key not in known]
        for done in concurrent.futures.as_completed(running):
            record = done.result()
            records.append(record)
            if options.results:
                with options.results.open("a") as file:
                    file.write(record.line())
            print(f"[{len(records)}/{len(wanted)}] {record.verdict:16} {record.key}", flush=True)
    return 0 if summary(records, sys.stdout) >= (1 if options.again else ENOUGH) else 1


if __name__ == "__main__":
    sys.exit(main())
