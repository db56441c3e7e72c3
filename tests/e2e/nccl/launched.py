#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds launched.cc with MPI's compiler wrapper and starts it as others do.

    launched.py CUCO SOURCE
"""
import os
import pathlib
import subprocess
import sys
import tempfile

cuco, source = sys.argv[1:3]
CUDA = "/usr/local/cuda"
SAID = "launched on 2 ranks: ok"


def build(program, *options):
    subprocess.run(["mpicxx", "-DOMPI_SKIP_MPICXX", source, f"-I{CUDA}/include", f"-L{CUDA}/lib64", "-lcudart", "-lnccl",
                    f"-Wl,-rpath,{CUDA}/lib64", *options, "-o", str(program)], check=True)


def start(program):
    result = subprocess.run([cuco, "run", "--ranks", "2", str(program)], capture_output=True, text=True, timeout=100)
    if result.returncode != 0 or SAID not in result.stdout:
        sys.exit(f"{program}: exit code {result.returncode}\n{result.stdout}{result.stderr}")


with tempfile.TemporaryDirectory() as folder:
    # The folder of the real libraries comes before ours in the old way of linking.
    fixed = pathlib.Path(folder) / "fixed"
    build(fixed, "-Wl,--disable-new-dtags")
    start(fixed)
    # A script with an mpirun of its own.
    program = pathlib.Path(folder) / "program"
    build(program, "-Wl,--enable-new-dtags")
    script = pathlib.Path(folder) / "start.sh"
    root = "--allow-run-as-root" if os.geteuid() == 0 else ""
    script.write_text(f"#!/bin/sh\nexec mpirun {root} --oversubscribe --bind-to none -n 2 {program}\n", encoding="utf-8")
    script.chmod(0o755)
    start(script)
print("launched: ok")
