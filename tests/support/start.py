#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts a test's command where the machine has what it needs.

  start.py [--needs nvcc]… [--tenth] -- COMMAND…

What is missing is a skip (status 77), or a failure where CUCO_REQUIRE names it. --tenth sets
CUCO_TENTH, if it is not set, to the digit that stands for the commit (0 where there is no git).
"""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def has_nvcc() -> bool:
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    return bool(shutil.which("nvcc")) or any(home and os.path.exists(f"{home}/bin/nvcc") for home in homes)


def tenth_of_commit() -> int:
    try:
        run = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        return int(run.stdout.strip(), 16) % 10
    except (OSError, ValueError, subprocess.CalledProcessError):
        return 0


def main() -> None:
    end = sys.argv.index("--")
    options, command = sys.argv[1:end], sys.argv[end + 1:]
    if "nvcc" in options and not has_nvcc():
        required = "nvcc" in os.environ.get("CUCO_REQUIRE", "").split(",")
        print(f"{'required, but missing' if required else 'missing'}: nvcc")
        sys.exit(1 if required else 77)
    if "--tenth" in options:
        os.environ.setdefault("CUCO_TENTH", str(tenth_of_commit()))
        print(f"tenth {os.environ['CUCO_TENTH']} of the cases", flush=True)
    os.execvp(command[0], command)


main()
