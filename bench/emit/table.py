#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted microseconds of a call: NCCL's collective and the code that the expert emits for it.

    table.py CUCO GENERATE [--ranks N] [--topology T] [--only TEXT] BACKEND… -- BYTES…

GENERATE is test_emit_generate. BYTES are those of `count` elements. Prints Markdown.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HARNESS = pathlib.Path(__file__).resolve().parents[2] / "tests/e2e/emit"


def rows(arguments, backend: str, sizes: list[str]) -> list[list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([arguments.generate, f"{backend}_designs", folder, "32", "65536"], check=True)
        for header in HARNESS.glob("*.cuh"):
            shutil.copy(header, folder)
        command = [arguments.cuco, "run", "--ranks", arguments.ranks, "--nvcc", "-DNCCL_GIN_GDAKI_ENABLE=0"]
        if arguments.topology:
            command += ["--topology", arguments.topology]
        environment = dict(os.environ, ONLY=arguments.only) if arguments.only else None
        run = subprocess.run([*command, f"{folder}/{backend}_designs.cu", "--", "--bench", *sizes],
                             check=True, capture_output=True, text=True, env=environment)
    return [line.split("\t") for line in run.stdout.splitlines() if line.count("\t") == 3]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cuco")
    parser.add_argument("generate")
    parser.add_argument("--ranks", default="4")
    parser.add_argument("--topology")
    parser.add_argument("--only")
    parser.add_argument("backends", nargs="+")
    at = sys.argv.index("--")
    arguments, sizes = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1:]
    print("| design | " + " | ".join(sizes) + " |")
    print("| --- |" + " --- |" * len(sizes))
    for backend in arguments.backends:
        cells: dict[str, list[str]] = {}
        for name, _, host, emitted in rows(arguments, backend, sizes):
            cells.setdefault(name, []).append(f"{host} → {emitted}")
        for name, times in cells.items():
            print(f"| {name} | " + " | ".join(times) + " |", flush=True)


main()
