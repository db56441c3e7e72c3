#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What cuco run --on says where something is missing, and what it refuses.

    missing.py CUCO
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

cuco = sys.argv[1]


def run(*words, code, environment=None):
    done = subprocess.run([cuco, *map(str, words)], capture_output=True, text=True, env=environment, timeout=50)
    if done.returncode != code:
        sys.exit(f"{words}: {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def expect(text, *parts):
    for part in parts:
        if part not in text:
            sys.exit(f"{part!r} is not in:\n{text}")


has_gpu = pathlib.Path("/dev/nvidiactl").exists()
with tempfile.TemporaryDirectory() as folder:
    program = pathlib.Path(folder) / "prog.cu"
    program.write_text("int main() { return 0; }\n", encoding="utf-8")
    if not has_gpu:
        for target in ("gpu", "loopback"):
            expect(run("run", "--on", target, program, code=3), f"--on {target}: ", "no NVIDIA driver", "--on virtual")
        expect(run("run", "--on", "cluster", program, code=3), "--on cluster: ", "--topology")
        targets = {t["name"]: t for t in json.loads(run("doctor", "--json", code=0))["targets"]}
        assert not targets["loopback"]["usable"] and "no NVIDIA driver" in targets["loopback"]["reason"], targets
    # What virtual GPUs alone can do is refused, with what there is instead.
    for words, why in ((("--check",), "--sanitize memcheck"), (("--schedules", "2"), "only virtual GPUs"),
                       (("--timeline", "t.json"), "only virtual GPUs"), (("--hardware", "h200"), "the GPU is what it is")):
        expect(run("run", "--on", "loopback", *words, program, code=2), "has no meaning with --on loopback", why)
    expect(run("run", "--on", "cluster", "--probe-delay", "1ms", program, code=2), "--on loopback or virtual")
    expect(run("run", "--sanitize", "memcheck", program, code=2), "--check finds more")
    expect(run("run", "--hostfile", "hosts", program, code=2), "--on cluster")
    expect(run("run", "--on", "cluster", "--hostfile", "no-such-file", program, code=2), "no such file")
    # mpirun is needed for programs that link MPI, wherever they are to run.
    expect(run("run", "--on", "cluster", "--sanitize", "frob", program, code=2), "memcheck, racecheck")
print("missing: ok")
