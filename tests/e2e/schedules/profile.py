#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuco run --profile on a program whose counts are known.

    profile.py CUCO SOURCE
"""
import json
import os
import subprocess
import sys
import tempfile

cuco, source = sys.argv[1:3]
with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "profile.json")
    command = [cuco, "run", "--profile", "--profile-json", file, "--timeline", file + ".trace", source]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    print(result.stdout + result.stderr)
    assert result.returncode == 0
    report = json.load(open(file))
    trace = json.load(open(file + ".trace"))["traceEvents"]
(kernel,) = report["kernels"]
assert kernel["launches"] == 1 and kernel["blocks"] == 256
line = 1 + next(i for i, text in enumerate(open(source)) if "3 * i + 1;" in text)
(store,) = [entry for entry in kernel["lines"] if entry["line"] == line]
# 65,536 words, neighbours together: 4 sectors a warp, nothing wasted.
assert store["global_accesses"] == 2048, store
assert store["global_bytes"] == 262144 and store["sectors"] == 8192, store
assert store["ideal_sectors"] == store["sectors"]
# One GPU: what it did is told without a range, and what the sums are of.
assert "GPU 0\n  kernels        1 launch, " in result.stdout and "summed: counts over" in result.stdout, result.stdout
assert "copies, fills  " in result.stdout and "links" not in result.stdout, result.stdout
assert "fill" in result.stdout and f"streams.cu:{line}" in result.stdout
assert "predicted" in result.stdout and "3 * i + 1" in result.stdout
slices = [event for event in trace if event["ph"] == "X"]
assert {"fill"} == {event["name"] for event in slices if event["cat"] == "kernel"}, slices
assert any(event["cat"] == "copy" for event in slices), slices
