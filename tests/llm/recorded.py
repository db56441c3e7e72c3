#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A recorded run, asked again, recorded anew and replayed: recorded.py CUCO SOURCE FILE LEAST[,SMALL] COMMAND…

The winner must be verified and at least LEAST times as fast as the seed on full shapes, and at least SMALL times on the
others, in the geometric mean; the replay must end with the same, and no file of the first run's cache may help it.
"""
import json
import math
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

CUCO, SOURCE, RECORDING = (pathlib.Path(word).absolute() for word in sys.argv[1:4])
LEAST, LEAST_SMALL, *_ = [*map(float, sys.argv[4].split(",")), 0.0]
COMMAND = sys.argv[5:]
SAME = ("candidate", "code_hash", "directive", "seconds", "verdict")


def check(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def cuco(folder, *words, **environment):
    run = subprocess.run([CUCO, "--json", "--set", f"store.folder={folder}/runs", "--set", "llm.deadline=5m", *words],
                         cwd=SOURCE, capture_output=True, text=True, env=os.environ | environment)
    check(run.returncode == 0, f"exit {run.returncode}\n{run.stdout[-3000:]}\n{run.stderr[-3000:]}")
    return run.stdout.splitlines()


def small_speedup(folder, candidate):
    """Of the winner, on the shapes that are not full ones: the geometric mean."""
    database = sqlite3.connect(next((folder / "runs").glob("*/events.db")))
    bodies = [json.loads(body) for (body,) in database.execute(
        "SELECT body FROM events WHERE kind = 'evaluated' ORDER BY sequence")]
    shapes = [body["outcome"]["shapes"] for body in bodies
              if body["candidate"] == candidate and body["outcome"].get("shapes")][-1]
    gains = [shape["baseline_seconds"] / shape["seconds"] for shape in shapes if not shape["scale_model"]["factor"]]
    return math.prod(gains) ** (1 / len(gains)) if gains else 0


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "inbox").mkdir()
        answering = subprocess.Popen([sys.executable, SOURCE / "tests/llm/answer_again.py", RECORDING,
                                      folder / "inbox"])
        try:
            lines = cuco(folder, *COMMAND, "--proposer", f"mailbox:{folder}/inbox", "--record", f"{folder}/new.jsonl")
        finally:
            answering.kill()
            answering.wait()
        first = json.loads(lines[-1])["result"]
        check(first["verdict"] == "scored" and first["speedup"] >= LEAST, first)
        if LEAST_SMALL:
            small = small_speedup(folder, first["candidate"])
            check(small >= LEAST_SMALL, f"only {small:.3f}x on small shapes")
        again = json.loads(cuco(folder, *COMMAND, "--replay", f"{folder}/new.jsonl",
                                XDG_CACHE_HOME=f"{folder}/cache")[-1])["result"]
        check(all(first[key] == again[key] for key in SAME), (first, again))
        if "tune" in COMMAND and "silu_and_mul" in COMMAND[1]:
            check_extension(folder)


def check_extension(folder):
    """The winner as a PyTorch extension: its test without PyTorch passes on a virtual GPU."""
    cuco(folder, "best", "last", "--torch", "-o", f"{folder}/torch")
    made = folder / "torch"
    sources = ("check.cu", "kernel.cc", "tuned.cu", "original.cu")

    def run():
        return subprocess.run([CUCO, "run", *sources, "--nvcc", f"-I{made}/include", "--nvcc", f"-I{made}"], cwd=made,
                              capture_output=True, text=True)

    right = run()
    check(right.returncode == 0 and "4 shapes, 0 differ" in right.stdout, right.stdout + right.stderr[-2000:])
    program = made / "tuned/program.cu"
    program.write_text(program.read_text().replace("* up;", "* up * 1.1f;"))
    wrong = run()
    check("DIFFER" in wrong.stdout, "a wrong version passes: " + wrong.stdout + wrong.stderr[-500:])


main()
