#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calibration: what ordinary kernels took on a GPU against what is predicted for them.

  run.py measure [FILE]                    on a machine with a GPU: build with nvcc, write the record
  run.py predict [--cuco PATH] [--markdown] [--most PERCENT] [--write FILE] [name...]
                                           here: run under `cuco run`, compare with the record; exits
                                           with 1 if the median error of all is larger than that

Half of the kernels are held out: a model is fitted on the others and reported on these. Which half is
decided by a hash of the name, so that neither the times nor whoever adds a kernel can choose. Kernels of
bench/sanity's ring are measured and predicted along with those here, and named ring/NAME.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORD = ROOT / "bench/results/calibration-h200.json"
SOURCES = {"": HERE / "kernels.cu", "ring/": ROOT / "bench/sanity/ring.cu"}
REPEAT = 31


def times(text, prefix):
    return {prefix + name: float(time) for name, time in
            (line.split() for line in text.splitlines() if len(line.split()) == 2)}


def held_out(name):
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def query(what):
    return subprocess.run(["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader"],
                          capture_output=True, text=True).stdout.strip()


def measure(to):
    measured = {}
    with tempfile.TemporaryDirectory() as work:
        for prefix, source in SOURCES.items():
            program = os.path.join(work, source.stem)
            subprocess.run(["nvcc", "-std=c++17", "-O3", "-gencode", "arch=compute_90,code=sm_90", source, "-o", program],
                           check=True)
            # Two processes, the median of each: a kernel whose two medians differ says how sure its time is.
            for _ in range(2):
                text = subprocess.run([program, "--repeat", str(REPEAT)], check=True, capture_output=True, text=True).stdout
                for name, time in times(text, prefix).items():
                    measured.setdefault(name, []).append(time)
    record = {"gpu": query("name"), "driver": query("driver_version"), "date": datetime.date.today().isoformat(),
              "conditions": f"CUDA events around one launch after a warm-up; us: the median of {REPEAT} launches; "
                            "spread: between two processes, against the smaller",
              "kernels": [{"name": name, "us": min(two), "spread": round(max(two) / min(two) - 1, 3), "held_out": held_out(name)}
                          for name, two in measured.items()]}
    pathlib.Path(to).write_text(json.dumps(record, indent=1) + "\n")
    print(f"{len(measured)} kernels, {sum(map(held_out, measured))} held out")


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    return [rank for _, rank in sorted(zip(order, range(len(values))))]


def spearman(pairs):
    a, b = (ranks([pair[i] for pair in pairs]) for i in (0, 1))
    n = len(pairs)
    return 1 - 6 * sum((x - y) ** 2 for x, y in zip(a, b)) / (n * (n * n - 1)) if n > 2 else float("nan")


def error(predicted, measured):
    """By how much the larger is above the smaller."""
    return max(predicted, measured) / min(predicted, measured) - 1


def report(rows, markdown):
    """rows: name, predicted, measured, held out."""
    for title, chosen in (("fitted on", [r for r in rows if not r[3]]), ("held out", [r for r in rows if r[3]]), ("all", rows)):
        if not chosen:
            continue
        errors = [error(r[1], r[2]) for r in chosen]
        print(f"{title}: {len(chosen)} kernels, median error {100 * statistics.median(errors):.0f} %, "
              f"Spearman {spearman([(r[1], r[2]) for r in chosen]):.3f}, "
              f"{sum(e > 1 for e in errors)} off by more than 2x")
    line = "| {} | {} | {} | {} | {} |" if markdown else "{:28} {:>12} {:>12} {:>8}  {}"
    print("\nthe ten worst:\n" if markdown else "\nthe ten worst:")
    print(line.format("kernel", "predicted us", "measured us", "ratio", "held out"))
    if markdown:
        print("| --- | ---: | ---: | ---: | --- |")
    for name, predicted, measured, held in sorted(rows, key=lambda r: -error(r[1], r[2]))[:10]:
        print(line.format(name, f"{predicted:.2f}", f"{measured:.2f}", f"{predicted / measured:.2f}", "yes" if held else ""))


def predict(cuco, names, markdown):
    record = json.loads(RECORD.read_text())
    rows = []
    for prefix, source in SOURCES.items():
        known = {k["name"]: k for k in record["kernels"] if k["name"].startswith("ring/") == bool(prefix)}
        wanted = [name.removeprefix(prefix) for name in names if name in known]
        if names and not wanted:
            continue
        run = subprocess.run([cuco, "run", source, "--", *wanted], capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"cuco run failed:\n{run.stdout}{run.stderr}")
        for name, time in times(run.stdout, prefix).items():
            if name in known:
                rows.append((name, time, known[name]["us"], known[name]["held_out"]))
    if not markdown:
        for name, predicted, measured, held in rows:
            print(f"{name:28} {predicted:12.2f} {measured:12.2f} {predicted / measured:8.2f}  {'held out' if held else ''}")
    report(rows, markdown)
    return rows


def write_pairs(rows, to):
    pairs = [{"name": name, "predicted_us": predicted, "measured_us": measured, "held_out": held}
             for name, predicted, measured, held in rows]
    pathlib.Path(to).write_text(json.dumps({"measured": RECORD.name, "date": datetime.date.today().isoformat(),
                                            "kernels": pairs}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("measure").add_argument("file", nargs="?", default=str(RECORD))
    wish = commands.add_parser("predict")
    wish.add_argument("--cuco", default="cuco")
    wish.add_argument("--markdown", action="store_true")
    wish.add_argument("--write", metavar="FILE")
    wish.add_argument("--most", type=float, default=float("inf"), metavar="PERCENT")
    wish.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.command == "measure":
        measure(arguments.file)
        return 0
    rows = predict(arguments.cuco, arguments.names, arguments.markdown)
    if arguments.write:
        write_pairs(rows, arguments.write)
    return 0 if 100 * statistics.median(error(r[1], r[2]) for r in rows) <= arguments.most else 1


if __name__ == "__main__":
    sys.exit(main())
