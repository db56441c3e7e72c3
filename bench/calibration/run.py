#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calibration: what ordinary kernels took on a GPU against what is predicted for them.

  run.py measure [FILE]                    on a machine with a GPU: build with nvcc, write the record
  run.py predict [--cuco PATH] [--hardware FILE] [--markdown] [--hold PERCENT] [--write FILE] [name...]
                                           here: run under `cuco run`, compare with the record; exits
                                           with 1 if a prediction is further than that from the
                                           recorded one
  run.py fit [--cuco PATH] SECTION.KEY VALUE... [--names name...]
                                           here: the error of the half that is fitted on, with each
                                           value of one key of the hardware file
  run.py check                             here: the recorded predictions against the limits, and the
                                           hardware file against the record; runs nothing

Half of the kernels are held out: a model is fitted on the others and reported on these. Which half is
decided by a hash of the name, so that neither the times nor whoever adds a kernel can choose. further.cu,
traffic.cu and bench/sanity's ring are measured and predicted along with kernels.cu; their kernels are
named further/NAME, traffic/NAME and ring/NAME.
"""
import argparse
import datetime
import hashlib
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORD = ROOT / "bench/results/calibration-h200.json"
PREDICTED = ROOT / "bench/results/calibration-h200-predicted.json"
HARDWARE = ROOT / "hardware/h200.toml"
SOURCES = {"": HERE / "kernels.cu", "further/": HERE / "further.cu", "traffic/": HERE / "traffic.cu",
           "ring/": ROOT / "bench/sanity/ring.cu"}
REPEAT = 31
SLOW = {"gemm_wmma_2048", "mma_registers_264"}  # Their predictions take minutes.
# On the kernels that are held out. The median may not grow: it is what it is today, rounded up.
MOST_MEDIAN = 0.09
LEAST_SPEARMAN = 0.95
MOST_ERROR = 1.0


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


def predictions(cuco, hardware, names):
    """name, predicted, measured, held out, of all kernels or of these."""
    record = json.loads(RECORD.read_text())
    rows = []
    for prefix, source in SOURCES.items():
        known = {k["name"]: k for k in record["kernels"] if k["name"] == prefix + k["name"].rpartition("/")[2]}
        wanted = [name.removeprefix(prefix) for name in known if name in names or not names and name not in SLOW]
        if not wanted:
            continue
        run = subprocess.run([cuco, "run", "--hardware", hardware, source, "--", *wanted], capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"cuco run failed:\n{run.stdout}{run.stderr}")
        for name, time in times(run.stdout, prefix).items():
            if name in known:
                rows.append((name, time, known[name]["us"], known[name]["held_out"]))
    return rows


def predict(arguments):
    rows = predictions(arguments.cuco, arguments.hardware, arguments.names)
    if not arguments.markdown:
        for name, predicted, measured, held in rows:
            print(f"{name:28} {predicted:12.2f} {measured:12.2f} {predicted / measured:8.2f}  {'held out' if held else ''}")
    report(rows, arguments.markdown)
    if arguments.write:
        write_pairs(rows, arguments.write)
    recorded = {k["name"]: k["predicted_us"] for k in json.loads(PREDICTED.read_text())["kernels"]}
    moved = [name for name, predicted, _, _ in rows if 100 * error(predicted, recorded.get(name, predicted)) > arguments.hold]
    for name in moved:
        print(f"{name}: no longer the {recorded[name]:.2f} us of {PREDICTED.name}: predict all kernels anew, with --write")
    return 1 if moved else 0


def fit(arguments):
    """One key of the hardware file at a time: which value suits the kernels that are fitted on?"""
    section, key = arguments.key.split(".")
    record = json.loads(RECORD.read_text())
    names = arguments.names or [k["name"] for k in record["kernels"] if not k["held_out"]]
    assert not any(map(held_out, names)), "these are held out"
    head, table, rest = re.split(rf"^(\[{section}\].*)$", HARDWARE.read_text(), maxsplit=1, flags=re.M)
    for value in arguments.values:
        text, count = re.subn(rf"^{key} = [^#\n]*", f"{key} = {value} ", rest, count=1, flags=re.M)
        assert count == 1, f"no {arguments.key}"
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(head + table + text)
            file.flush()
            rows = predictions(arguments.cuco, file.name, names)
        logs = [math.log(r[1] / r[2]) for r in rows]
        print(f"{arguments.key} = {value}: median error {100 * statistics.median(error(r[1], r[2]) for r in rows):.1f} %, "
              f"rms of the logarithm {math.sqrt(statistics.fmean(x * x for x in logs)):.3f}, mean {statistics.fmean(logs):+.3f}",
              flush=True)
    return 0


def check():
    """The recorded predictions, and whether the hardware file belongs to the record."""
    wrong = []
    measured = {k["name"]: k for k in json.loads(RECORD.read_text())["kernels"]}
    pairs = json.loads(PREDICTED.read_text())["kernels"]
    if {k["name"] for k in pairs} != set(measured) - SLOW or any(k["measured_us"] != measured[k["name"]]["us"] for k in pairs):
        wrong.append(f"{PREDICTED.name} is not of {RECORD.name}")
    if any(k["held_out"] != held_out(k["name"]) for k in pairs):
        wrong.append("the halves are not by name")
    rows = [(k["name"], k["predicted_us"], k["measured_us"], k["held_out"]) for k in pairs]
    report(rows, markdown=False)
    rows = [row for row in rows if row[3]]
    median = statistics.median(error(r[1], r[2]) for r in rows)
    if median > MOST_MEDIAN:
        wrong.append(f"held out: the median error is {100 * median:.1f} %, more than {100 * MOST_MEDIAN:.1f} %")
    if spearman([(r[1], r[2]) for r in rows]) < LEAST_SPEARMAN:
        wrong.append(f"held out: Spearman below {LEAST_SPEARMAN}")
    wrong += [f"held out: {r[0]} is off by more than {1 + MOST_ERROR:.0f}x" for r in rows if error(r[1], r[2]) > MOST_ERROR]
    claimed = tomllib.loads(HARDWARE.read_text())["accuracy"]
    ninth = sorted(error(r[1], r[2]) for r in rows)[math.ceil(0.9 * len(rows)) - 1]
    if claimed["kernels"] != len(rows) or not ninth <= claimed["kernels_within"] < ninth + 0.05:
        wrong.append(f"{HARDWARE.name}: [accuracy] says {claimed['kernels']} kernels within {claimed['kernels_within']}; "
                     f"held out are {len(rows)}, nine in ten within {ninth:.3f}")
    digest = hashlib.sha256(RECORD.read_bytes()).hexdigest()
    if tomllib.loads(HARDWARE.read_text())["gpu"].get("calibration") != digest:
        wrong.append(f"{HARDWARE.name} was fitted on another record: gpu.calibration is not {digest}")
    print("\n".join(wrong))
    return 1 if wrong else 0


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
    wish.add_argument("--hardware", default="h200")
    wish.add_argument("--markdown", action="store_true")
    wish.add_argument("--write", metavar="FILE")
    wish.add_argument("--hold", type=float, default=float("inf"), metavar="PERCENT")
    wish.add_argument("names", nargs="*")
    search = commands.add_parser("fit")
    search.add_argument("key")
    search.add_argument("values", nargs="+")
    search.add_argument("--names", nargs="*")
    commands.add_parser("check")
    for command in (wish, search):
        command.add_argument("--cuco", default="cuco")
    arguments = parser.parse_args()
    if arguments.command == "measure":
        measure(arguments.file)
        return 0
    return {"predict": predict, "fit": fit, "check": lambda _: check()}[arguments.command](arguments)


if __name__ == "__main__":
    sys.exit(main())
