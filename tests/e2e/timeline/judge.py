#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuco judge --timeline: seed and candidate beside each other, and the verdict that it has anyway.

    judge.py CUCO WHOLE_PROGRAM
"""
import json
import pathlib
import subprocess
import sys
import tempfile

CUCO, WHOLE = sys.argv[1:3]


def cuco(*words, code=0):
    done = subprocess.run([CUCO, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def verdict(folder, program, *flags, code=0):
    out, errors = cuco("judge", "--own", "--json", "--fidelity", "quick", folder, program, *flags, code=code)
    answer = json.loads(out)
    del answer["stages"], answer["host_seconds"]  # processor time
    return answer, errors


def check(folder, program, ranks):
    """The same verdict with and without, and a trace in which the candidate can be found."""
    file = folder / "trace.json"
    with_timeline, errors = verdict(folder, program, "--timeline", file)
    assert "timeline (predicted)" in errors, errors
    assert with_timeline == verdict(folder, program)[0], with_timeline
    events = json.loads(file.read_text())["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    kernels = {}
    for event in events:
        if event.get("cat") == "kernel":
            kernels.setdefault(names[event["pid"]], []).append(event)
    assert set(kernels) == {f"{run}: GPU {gpu}" for run in ("seed", "candidate") for gpu in range(ranks)}, names
    assert any(name.startswith("candidate: host") for name in names.values()), names
    return with_timeline, kernels


with tempfile.TemporaryDirectory() as root:
    split = pathlib.Path(root) / "split"
    cuco("init", split)
    program = split / "program.cu"
    slow = split / "slow.cu"
    line = "    y[i] = x[i] * x[i];\n"
    slower = "  {\n    __nanosleep(20000);\n    y[i] = x[i] * x[i];\n  }\n"
    slow.write_text(program.read_text().replace(line, slower))
    assert slow.read_text() != program.read_text()
    answer, kernels = check(split, slow, 4)
    # One iteration each, from its beginning; the candidate's is as long as its verdict says.
    ((seed,), (mine,)) = kernels["seed: GPU 0"], kernels["candidate: GPU 0"]
    assert mine["dur"] > seed["dur"], kernels
    (shape,) = answer["shapes"]
    assert mine["ts"] + mine["dur"] <= 1e6 * shape["seconds"] + 1e-3, (mine, shape)
    assert mine["ts"] + mine["dur"] > 0.5e6 * shape["seconds"], (mine, shape)
    # What does not pass is not timed, and what is not timed has no timeline.
    file = split / "none.json"
    wrong = split / "wrong.cu"
    wrong.write_text(program.read_text().replace("x[i] * x[i]", "x[i] * 0.5f"))
    assert "no timeline" in verdict(split, wrong, "--timeline", file, code=1)[1]
    assert "times nothing" in cuco("judge", "--fidelity", "check", "--timeline", file, split, program, code=2)[1]
    assert "--on gpu has none" in cuco("judge", "--on", "gpu", "--timeline", file, split, program, code=2)[1]
    assert "it is a folder" in cuco("judge", "--timeline", root, split, program, code=2)[1]
    assert not file.exists()

    whole = pathlib.Path(root) / "whole"
    cuco("init", whole, "--from", WHOLE, "--ranks", "1")
    check(whole, whole / "program.cu", 1)
