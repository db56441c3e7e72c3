#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What blocks touch, as cuco analyze sees it, against tests/golden/trace.

    run.py CUCO SOURCE_FOLDER [--twice] PROGRAM...

CUCO_UPDATE_GOLDEN=1 rewrites the expected texts. --twice: a second run says the same, byte for byte.
Times are predicted and change with the time model: only their sanity is tested.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys


def analyze(cuco, program, *options):
    run = subprocess.run([cuco, *options, "analyze", program], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"cuco analyze {program}: exit {run.returncode}\n{run.stdout}\n{run.stderr}")
    return run.stdout


def blocks(text):
    """The section of the blocks."""
    lines = text.split("\n")
    begin = next(i for i, line in enumerate(lines) if line.startswith("blocks"))
    return "\n".join(lines[begin:lines.index("", begin)]) + "\n"


def check_overlaps(program, text):
    """What hides is no more than there is, of every site that communicated."""
    seen = 0
    for site in json.loads(text)["sites"]:
        observed = site["observed"]
        seen += observed["seen"]
        if not 0 <= observed["gain_us"] <= observed["communication_us"]:
            sys.exit(f"{program}: more hides than there is: {observed}")
    if seen == 0:
        sys.exit(f"{program}: no site was seen to communicate")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cuco")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--twice", action="store_true")
    options = parser.parse_args()
    failed = 0
    for name in options.programs:
        program = options.source / name
        golden = options.source / "tests/golden/trace" / f"{program.stem}.txt"
        text = analyze(options.cuco, program)
        if options.twice:
            check_overlaps(name, analyze(options.cuco, program, "--json"))
            if analyze(options.cuco, program) != text:
                sys.exit(f"{name}: a second run says something else")
        if os.environ.get("CUCO_UPDATE_GOLDEN"):
            golden.write_text(blocks(text))
        same = golden.exists() and golden.read_text() == blocks(text)
        failed += not same
        print(f"{'passed' if same else 'FAILED'}  {name}", flush=True)
        if not same:
            print(blocks(text), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
