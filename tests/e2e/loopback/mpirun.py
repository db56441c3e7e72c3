#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuco run --on loopback with a program of several processes, from the command line to the exit code,
where NVIDIA's driver and its Multi-Process Service are stood in for.

    mpirun.py CUCO DRIVER_FOLDER PROGRAM
"""
import os
import pathlib
import subprocess
import sys
import tempfile

cuco, driver, program = sys.argv[1:4]
RANKS = 4
# In the foreground it takes clients until it is told to quit, as nvidia-cuda-mps-control does.
SERVICE = """#!/bin/sh
if [ "$1" = -f ]; then
  : > "$CUDA_MPS_PIPE_DIRECTORY/control"
  while [ ! -e "$CUDA_MPS_PIPE_DIRECTORY/quit" ]; do sleep 0.02; done
  echo ended >> "$SERVICE_LOG"
  exit 0
fi
read word rest
: > "$CUDA_MPS_PIPE_DIRECTORY/$word"
"""


def run(*words, code, folder, extra=None):
    environment = dict(os.environ, LD_LIBRARY_PATH=driver, PATH=f"{folder}:{os.environ['PATH']}",
                       SERVICE_LOG=str(folder / "log"), **(extra or {}))
    done = subprocess.run([cuco, "run", "--on", "loopback", *words], capture_output=True, text=True, env=environment,
                          timeout=100)
    if done.returncode != code:
        sys.exit(f"{words}: {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def expect(text, *parts):
    for part in parts:
        if part not in text:
            sys.exit(f"{part!r} is not in:\n{text}")


with tempfile.TemporaryDirectory() as name:
    here = pathlib.Path(name)
    service = here / "nvidia-cuda-mps-control"
    service.write_text(SERVICE, encoding="utf-8")
    service.chmod(0o755)
    everybody = [f"rank {rank}: ok" for rank in range(RANKS)]
    expect(run("--ranks", str(RANKS), program, code=0, folder=here), *everybody, "4 ranks on one GPU", "unpaced")
    # A modelled network is one more file in the run's folder.
    expect(run("--topology", "nvlink4", program, code=0, folder=here), *everybody, "4 ranks on one GPU")
    expect(run("--ranks", str(RANKS), program, "dies", code=66, folder=here), "the process of rank 1", "has died")
    expect(run("--ranks", str(RANKS), "--set", "run.patience=3s", program, "hangs", code=66, folder=here),
           "ranks 0, 2, 3 called it; rank 1 did not")
    # A rank that fails gives its own code, though mpirun ends the others for it.
    text = run("--ranks", str(RANKS), program, "fails", code=7, folder=here)
    if "has died" in text:
        sys.exit(text)
    # Who plays the network finds no GPU after all: nobody waits long for it.
    text = run("--ranks", str(RANKS), program, code=3, folder=here, extra={"STAND_IN_FAILS": "cuco-loopback-"})
    expect(text, "no GPU can be used: the stand-in says no")
    # Each run had a service of its own, and ended it.
    ended = (here / "log").read_text(encoding="utf-8").split()
    assert ended == ["ended"] * 6, ended
print("mpirun: ok")
