#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuco run --on cluster inside the virtual cluster: its libraries are those that a program finds, as
NVIDIA's are on real GPUs, and everything else is the way that it always goes.

    cluster.py CUCO MPI_PROGRAM
"""
import pathlib
import subprocess
import sys
import tempfile

cuco, source = sys.argv[1:3]
RANKS = 4


def inside(folder, *words, code=0):
    """Runs these words of cuco where the loader finds the virtual cluster's libraries."""
    script = folder / "inside.sh"
    script.write_text(f"#!/bin/sh\nexec {' '.join(map(str, (cuco, *words)))}\n", encoding="utf-8")
    script.chmod(0o755)
    done = subprocess.run([cuco, "run", "--ranks", str(RANKS), str(script)], capture_output=True, text=True,
                          timeout=200)
    if done.returncode != code:
        sys.exit(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    hosts = folder / "hosts"
    hosts.write_text(f"localhost slots={RANKS}\n", encoding="utf-8")
    flags = ("--nvcc", "-DNCCL_GIN_GDAKI_ENABLE=0")
    # Built here, and found inside: nvcc itself has no business among virtual GPUs.
    done = subprocess.run([cuco, "run", "--ranks", str(RANKS), *flags, source], capture_output=True, text=True,
                          timeout=200)
    if done.returncode != 0 or ": ok" not in done.stdout:
        sys.exit(done.stdout + done.stderr)
    words = ("run", "--on", "cluster", "--topology", "nvlink4", *flags)
    text = inside(folder, *words, "--hostfile", hosts, source)
    if ": ok" not in text:
        sys.exit(text)
    # Fewer slots than ranks: mpirun's own refusal comes through.
    hosts.write_text("localhost slots=2\n", encoding="utf-8")
    text = inside(folder, *words, "--hostfile", hosts, source, code=1)
    if "slots" not in text and "available" not in text:
        sys.exit(text)
print("cluster: ok")
