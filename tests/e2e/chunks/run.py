#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program whose kernels gather what they make on the virtual cluster, watched by the checker.

    run.py CUCO GENERATE PROGRAM BACKEND KIB MOST each|last [--topology NAME] [--schedules N] [--crowded] [--mutants]

It has to verify its own results under every schedule, and the checker has to find nothing.
--mutants runs versions with one step of the protocol left out instead: each has to be found.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

MUTANTS = {
    "last": {
        "a chunk is not waited for": ("      await_chunk(i / ranks(), i % ranks(), ahead);\n", ""),
        "chunks of the last round count": ("await_all(1);", "await_all(0);"),
        "rounds do not go up": ("      site().rounds[i] += 1;\n", "      ;\n"),
        "a chunk is sent before its last block is done": (
            "quotient(begin, rows.tile_bytes)) * tiles.column_blocks;",
            "quotient(begin, rows.tile_bytes)) * tiles.column_blocks - 1;"),
        "peers are written before they have entered": (
            "      if (p != rank()) await_announced<path>(site(), 0, p, round_of(0) + 1);\n", ""),
        "blocks are counted without a fence": (
            "    __threadfence_system();\n    last = atomicInc(counter, blocks - 1) == blocks - 1;\n"
            "    __threadfence_system();\n",
            "    last = atomicInc(counter, blocks - 1) == blocks - 1;\n"),
        "a flag is raised without release": (
            "Flag(*flag).store(round, cuda::memory_order_release);",
            "Flag(*flag).store(round, cuda::memory_order_relaxed);"),
        "a flag is awaited without acquire": (
            "Flag(*flag).load(cuda::memory_order_acquire)", "Flag(*flag).load(cuda::memory_order_relaxed)"),
    },
    "gin": {
        "the next launch overwrites what the network still reads": (
            "    await_read();\n    finish();\n", "    finish();\n"),
    },
}


def run(options, text, folder):
    program = pathlib.Path(folder) / "program.cu"
    program.write_text(text)
    done = subprocess.run([options.cuco, "run", "--ranks", "4", "--topology", options.topology, "--check",
                           "--schedules", options.schedules, program], capture_output=True, text=True)
    right = done.returncode == 0 and "PASS" in done.stdout and "FAIL" not in done.stdout
    return right, done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("cuco", "generate", "program", "backend", "kib", "most", "issuer"):
        parser.add_argument(name)
    parser.add_argument("--topology", default="nvlink4")
    parser.add_argument("--schedules", default="3")
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--crowded", action="store_true", help="more blocks than fit on the GPU at once")
    options = parser.parse_args()
    made = subprocess.run([options.generate, options.program, options.backend, options.kib, options.most,
                           options.issuer], capture_output=True, text=True)
    print(made.stderr, end="")
    if made.returncode != 0:
        return 1
    if options.crowded:
        made.stdout = made.stdout.replace("m = 37, n = 40", "m = 203, n = 200")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        if not options.mutants:
            right, output = run(options, made.stdout, folder)
            print("passed" if right else output)
            return 0 if right else 1
        for name, (old, new) in MUTANTS["gin" if options.backend == "gin" else options.issuer].items():
            if made.stdout.count(old) != 1:
                print(f"FAILED  {name}: its place is in the text {made.stdout.count(old)} times")
                failed += 1
                continue
            right, output = run(options, made.stdout.replace(old, new), folder)
            failed += right
            print(f"{'FAILED: not found' if right else 'found'}  {name}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
