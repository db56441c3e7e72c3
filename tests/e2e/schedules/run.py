#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that depends on its schedule is found, named by a seed and replayed; its twin is not.

    run.py CUCO SOURCE FLAG_OF_THE_TWIN [RANKS]
"""
import re
import subprocess
import sys

cuco, source, twin = sys.argv[1:4]
ranks = sys.argv[4] if len(sys.argv) > 4 else "1"


def run(*options):
    command = [cuco, "run", "--ranks", ranks, *options, source]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    print("+", " ".join(command), "->", result.returncode)
    print(result.stdout + result.stderr, end="", flush=True)
    return result


def expect(holds, what):
    if not holds:
        sys.exit("FAILED: " + what)


right = run("--schedules", "12", "--nvcc", twin)
expect(right.returncode == 0, "the correct twin is the same under every schedule")
wrong = run("--schedules", "12")
expect(wrong.returncode == 66, "the program depends on its schedule")
seed = re.search(r"differs under seed (\d+)", wrong.stderr)
expect(seed, "the seed is named")
plain = run()
again = [run("--schedule-seed", seed[1]) for _ in range(2)]
expect(again[0].stdout == again[1].stdout, "a replay is the same to the byte")
expect(again[0].returncode == again[1].returncode, "and ends the same way")
expect(again[0].stdout != plain.stdout, "and shows the difference")
