#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The delay probe names the wait that did not wait, and leaves the twin that counts alone.

    probe.py CUCO SOURCE FLAG_OF_THE_TWIN
"""
import subprocess
import sys

cuco, source, twin = sys.argv[1:4]


def run(*options):
    command = [cuco, "run", "--ranks", "2", "--probe-delay", "100ms", *options]
    command += ["--nvcc", "-DNCCL_GIN_GDAKI_ENABLE=0", source]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    print("+", " ".join(command), "->", result.returncode)
    print(result.stdout + result.stderr, end="", flush=True)
    return result


def expect(holds, what):
    if not holds:
        sys.exit("FAILED: " + what)


right = run("--nvcc", twin)
expect(right.returncode == 0, "the twin waits")
wrong = run()
expect(wrong.returncode == 66, "a wait that does not wait is found")
line = 1 + next(i for i, text in enumerate(open(source)) if "waitS" in text or "WAIT" in text)
name = source.rsplit("/", 1)[-1]
expect(any(f"{name}:{line}" in row and "did not wait" in row for row in wrong.stderr.splitlines()),
       f"and named: {name}:{line}")
