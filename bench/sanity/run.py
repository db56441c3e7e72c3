#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sanity ring: what kernels took on a GPU against what is predicted for them.

  run.py measure [FILE]          on a machine with a GPU: build with nvcc, write the times
  run.py predict [--cuco PATH] [name...]   here: run under `cuco run`, compare with the record

No kernel may be predicted at less than half of what the GPU took: exit status 1 then.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "ring.cu"
RECORD = HERE / "h200.txt"


def times(text):
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and not line.startswith("#"):
            found[words[0]] = float(words[1])
    return found


def measure(to):
    with tempfile.TemporaryDirectory() as work:
        ring = os.path.join(work, "ring")
        subprocess.run(["nvcc", "-std=c++17", "-O3", "-gencode", "arch=compute_90,code=sm_90", SOURCE, "-o", ring],
                       check=True)
        text = subprocess.run([ring, "--repeat", "15"], check=True, capture_output=True, text=True).stdout
    pathlib.Path(to).write_text(text)
    print(text, end="")


def predict(cuco, names):
    measured = times(RECORD.read_text())
    run = subprocess.run([cuco, "run", SOURCE, "--", *names], capture_output=True, text=True)
    predicted = times(run.stdout)
    if run.returncode != 0:
        sys.exit(f"cuco run failed:\n{run.stdout}{run.stderr}")
    low = 0
    print(f"{'kernel':24} {'predicted us':>14} {'H200 us':>12} {'ratio':>8}")
    for name, time in predicted.items():
        ratio = time / measured[name] if name in measured else float("nan")
        low += ratio < 0.5
        print(f"{name:24} {time:14.2f} {measured.get(name, float('nan')):12.2f} {ratio:8.2f}{'  LOW' if ratio < 0.5 else ''}")
    print(f"{len(predicted)} kernels, {low} predicted at less than half")
    return 1 if low else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("measure").add_argument("file", nargs="?", default=str(RECORD))
    wish = commands.add_parser("predict")
    wish.add_argument("--cuco", default="cuco")
    wish.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.command == "measure":
        measure(arguments.file)
        return 0
    return predict(arguments.cuco, arguments.names)


if __name__ == "__main__":
    sys.exit(main())
