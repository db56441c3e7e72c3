#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight ranks of a GIN all-gather and all-to-all, twice: the same output, predicted times included.

    repeat.py CUCO SOURCE BYTES
"""
import subprocess
import sys

cuco, source, size = sys.argv[1:4]
command = [cuco, "run", "--ranks", "8", "--nvcc", "-DNCCL_GIN_GDAKI_ENABLE=0", source, "--", size]
outputs = []
for _ in range(2):
    result = subprocess.run(command, capture_output=True, text=True, timeout=200)
    if result.returncode != 0 or "predicted" not in result.stdout:
        sys.exit(result.stdout + result.stderr)
    outputs.append(result.stdout)
print(outputs[0], end="")
sys.exit(0 if outputs[0] == outputs[1] else "the second run differs:\n" + outputs[1])
