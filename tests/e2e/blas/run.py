#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuBLAS programs on virtual GPUs: run.py CUCO FOLDER."""
import subprocess
import sys

cuco, folder = sys.argv[1:]


def run(*words):
    return subprocess.run([cuco, "run", *words], capture_output=True, text=True, timeout=250)


def expect(true, what, seen):
    if not true:
        sys.exit(f"{what}\n{seen.args}\nexit {seen.returncode}\n{seen.stdout}\n{seen.stderr}")


seen = run("--check", f"{folder}/products.cu")
expect(seen.returncode == 0 and "products agree" in seen.stdout, "products must agree, without a finding", seen)
seen = run(f"{folder}/refused.cu")
expect(seen.returncode == 0 and seen.stdout == "15 16 999\n", "what is not there must be refused", seen)
for name in ("cublasCgemm_v2", "cufftPlan1d", "curandCreateGenerator"):
    expect(f"cuco: {name} is not part of the virtual lib" in seen.stderr, f"{name} must be named", seen)
