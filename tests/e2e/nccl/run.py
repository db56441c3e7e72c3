#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one NCCL test program with cuco run and expects its last line to say ok.

    run.py CUCO SOURCE RANKS [TOPOLOGY]
"""
import subprocess
import sys

cuco, source, ranks = sys.argv[1:4]
command = [cuco, "run", "--ranks", ranks]
if len(sys.argv) > 4:
    command += ["--topology", sys.argv[4]]
if not source.endswith("default.cu"):
    # Half the code and half the time to parse it: only the proxy back end of GIN.
    command += ["--nvcc", "-DNCCL_GIN_GDAKI_ENABLE=0"]
if source.endswith("primitives.cu"):
    command += ["--nvcc", "--extended-lambda"]
command.append(source)
result = subprocess.run(command, capture_output=True, text=True, timeout=600)
sys.stdout.write(result.stdout)
sys.stderr.write(result.stderr)
lines = result.stdout.strip().splitlines()
if source.endswith("messages_mpi.cu"):
    again = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if again.stdout != result.stdout:
        sys.exit("the second run differs:\n" + again.stdout)
sys.exit(0 if result.returncode == 0 and lines and lines[-1].endswith(": ok") else 1)
