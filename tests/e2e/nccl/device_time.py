#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs device_time.cu on eight GPUs and compares its times with published ones.

    device_time.py CUCO SOURCE ROWS

Of each table the root mean square of predicted/published - 1 is at most 0.25, and no ratio is
outside of 0.6 to 1.6.
"""
import collections
import csv
import math
import subprocess
import sys

cuco, source, rows = sys.argv[1:4]
command = [cuco, "run", "--ranks", "8", "--topology", "nvlink8", "--nvcc",
           "-DNCCL_GIN_GDAKI_ENABLE=0", source]
result = subprocess.run(command, capture_output=True, text=True, timeout=600)
sys.stderr.write(result.stderr)
if result.returncode != 0 or not result.stdout.endswith("device_time: ok\n"):
    sys.exit(result.stdout)
predicted = {}
for line in result.stdout.splitlines()[:-1]:
    what, size, microseconds = line.split()
    predicted[what, size] = float(microseconds)

squares = collections.defaultdict(list)
failed = False
with open(rows, newline="") as file:
    for row in csv.DictReader(file):
        time = predicted[row["what"], row["bytes"]]
        ratio = time / float(row["microseconds"])
        squares[row["table"]].append((ratio - 1) ** 2)
        outside = not 0.6 <= ratio <= 1.6
        failed |= outside
        print(f"{row['table']:12} {row['what']:22} {row['bytes']:>9} bytes: predicted {time:8.2f}, "
              f"published {row['microseconds']:>6}, ratio {ratio:.2f}{'  <<<' if outside else ''}")
for table, values in squares.items():
    rms = math.sqrt(sum(values) / len(values))
    failed |= rms > 0.25
    print(f"{table:12} rms {rms:.2f}{'  <<<' if rms > 0.25 else ''}")
sys.exit(failed)
