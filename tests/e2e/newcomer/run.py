#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of one's own, as a newcomer brings them: from `cuco optimize prog.cu` to a verified result, or
to one sentence that says what stands in the way, within three minutes.

    run.py CUCO [--candidates N] [PROGRAM...]

A result counts only if the program that `cuco best` writes builds and passes its own check under `cuco run`.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 180


def call(*words, cwd, **kwargs):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=cwd, **kwargs)


def attempt(cuco, program, candidates, folder):
    """What came of it, in a sentence; an AssertionError if that is neither a result nor a reason."""
    found = call(cuco, "optimize", program, "--ranks", "4", "--candidates", candidates, cwd=folder, timeout=2 * LIMIT)
    said = found.stdout + found.stderr
    if found.returncode == 0:
        assert re.search(r"predicted against .* correct on .* shape", found.stdout), said
        assert "calibrated on" in found.stdout, said
        best = call(cuco, "best", "last", "-o", "best", cwd=folder)
        assert best.returncode == 0, best.stderr
        again = call(cuco, "run", "--ranks", "4", "--check", f"best/{program.name}", cwd=folder, timeout=LIMIT)
        assert again.returncode == 0 and "PASS" in again.stdout, f"the winner fails: {again.stdout}{again.stderr}"
        return next(line for line in found.stdout.splitlines() if line.startswith("done"))
    assert found.returncode in (1, 2), said
    reasons = [line for line in said.splitlines() if line.startswith(("done", "cuco: "))]
    assert len(reasons) == 1 and ": " in reasons[0], said
    return reasons[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cuco", type=pathlib.Path)
    parser.add_argument("programs", nargs="*", type=pathlib.Path)
    parser.add_argument("--candidates", default="4")
    options = parser.parse_intermixed_args()
    failed = 0
    for program in options.programs or sorted(HERE.glob("*.cu")):
        with tempfile.TemporaryDirectory() as folder:
            begun = time.monotonic()
            try:
                sentence = attempt(options.cuco, program.resolve(), options.candidates, folder)
                seconds = time.monotonic() - begun
                assert seconds < LIMIT, f"took {seconds:.0f} s: {sentence}"
                print(f"passed  {program.name}  {seconds:.0f} s  {sentence}", flush=True)
            except (AssertionError, subprocess.TimeoutExpired) as problem:
                failed += 1
                print(f"FAILED  {program.name}: {problem}", flush=True)
    return 1 if failed else 0


sys.exit(main())
