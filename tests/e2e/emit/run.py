#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates a set of emitted collectives, runs it under --check and expects no finding.

    run.py CUCO GENERATE SET RANKS [OPTION… of cuco run] [-- ARGUMENTS]
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

cuco, generate, which, ranks, *options = sys.argv[1:]
arguments = []
if "--" in options:
    at = options.index("--")
    options, arguments = options[:at], options[at:]
here = pathlib.Path(__file__).resolve().parent
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([generate, which, folder], check=True)
    for header in "harness.cuh", "fused.cuh":
        shutil.copy(here / header, folder)
    # Only the proxy back end of GIN: half the code.
    command = [cuco, "run", "--check", "--ranks", ranks, "--nvcc", "-DNCCL_GIN_GDAKI_ENABLE=0", *options,
               f"{folder}/{which}.cu", *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
sys.stdout.write(result.stdout)
sys.stderr.write(result.stderr)
lines = result.stdout.strip().splitlines()
sys.exit(0 if result.returncode == 0 and lines and lines[-1] == "ok" else 1)
