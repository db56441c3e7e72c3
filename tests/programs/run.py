#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs host-driven programs of this folder on the virtual cluster, watched by the checker.

    run.py CUCO [--tenth] [--ranks N] [PROGRAM...]

Each has to verify its own results and to exit with 0, and the checker has to find nothing.
--tenth runs one in ten; CUCO_TENTH=K says which.
"""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cuco")
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--tenth", action="store_true")
    parser.add_argument("--ranks", default="4")
    options = parser.parse_args()
    programs = [pathlib.Path(p) for p in options.programs] or sorted(HERE.glob("*.cu"))
    if options.tenth:
        programs = programs[int(os.environ.get("CUCO_TENTH", "0")) % 10::10]
    failed = 0
    for program in programs:
        run = subprocess.run([options.cuco, "run", "--ranks", options.ranks, "--check", program],
                             capture_output=True, text=True)
        right = run.returncode == 0 and "PASS" in run.stdout and "FAIL" not in run.stdout
        failed += not right
        print(f"{'passed' if right else 'FAILED'}  {program.name}", flush=True)
        if not right:
            print(run.stdout, run.stderr, sep="\n")
    print(f"{len(programs) - failed} of {len(programs)} programs passed")
    return 1 if failed or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
