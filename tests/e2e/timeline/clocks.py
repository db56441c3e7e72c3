#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program's clocks agree with each other, and with what its timeline shows.

    clocks.py CUCO SOURCE
"""
import json
import os
import re
import subprocess
import sys
import tempfile

cuco, source = sys.argv[1:3]
with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "trace.json")
    plain = [cuco, "run", "--ranks", "2", source]
    traced = [cuco, "run", "--ranks", "2", "--timeline", file, source]
    outputs = []
    for command in plain, traced:
        result = subprocess.run(command, capture_output=True, text=True, timeout=600)
        print(result.stdout + result.stderr)
        assert result.returncode == 0 and "clocks: ok" in result.stdout
        outputs.append(sorted(result.stdout.splitlines()))
    # Who is watched reads the same clocks.
    assert outputs[0] == outputs[1], outputs
    events = json.load(open(file))["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
assert set(names.values()) == {"host of rank 0", "host of rank 1", "GPU 0", "GPU 1"}, names
for rank in 0, 1:
    took = [int(ns) for ns in re.findall(rf"rank {rank} took (\d+) ns", result.stdout)]
    kernels = [e for e in events if e.get("cat") == "kernel" and names[e["pid"]] == f"GPU {rank}"]
    assert len(took) == 2 and len(kernels) == 3, (took, kernels)
    for nanoseconds, kernel in zip(took, kernels[1:]):
        # A kernel is shown from when its turn had come: with its launch.
        assert 0 <= kernel["dur"] * 1000 - nanoseconds < 10000, (nanoseconds, kernel)
    (first, second) = kernels[1:]
    calls = [e for e in events if e.get("cat") == "call" and names[e["pid"]] == f"host of rank {rank}"]
    # The host waits for the event until the kernel is over, and not much longer.
    waits = [e for e in calls if e["name"].startswith("event synchronize")]
    for wait, kernel in zip(waits, (first, second), strict=True):
        assert wait["ts"] <= kernel["ts"] + kernel["dur"] <= wait["ts"] + wait["dur"] + 1e-3, (wait, kernel)
        assert wait["ts"] + wait["dur"] - kernel["ts"] - kernel["dur"] < 10, (wait, kernel)
