#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program whose kernels send what they store on the virtual cluster, watched by the checker.

    run.py CUCO GENERATE PROGRAM [--design WORDS] [--ranks N] [--schedules N] [--mutants]

It has to verify its own results under every schedule, and the checker has to find nothing.
--mutants runs versions with one step of the protocol left out instead: each has to be found.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

# Of the hazards between kernels that send, what they send and what comes.
LANE_MUTANTS = {
    "kernels that send wait for nobody who reads what comes": (
        "  for (const Message& message : planned->planned().receives) {\n",
        "  for (const Message& message : std::vector<Message>()) {\n"),
    "kernels that send do not wait for the communication before": (
        "  touches.list.push_back({Exchanges::order(), true, together});\n", ""),
}
MUTANTS = {
    "ways before the announcement": (
        "    if (has(forward.receivers, p)) tables.await_announced(p);\n", ""),
    "copies before the announcement": (
        "    if (has(forward.receivers, p)) forward.tables.await_announced(p);\n", ""),
    "ways of an earlier round": (
        "return found_rounds().load(cuda::memory_order_acquire) == *ended + 1;", "return true;"),
    "announcement without release": (
        "raise(tables.announced(p, tables.rank), tables.received[p] + 1);",
        "Flag(*tables.announced(p, tables.rank)).store(tables.received[p] + 1, cuda::memory_order_relaxed);"),
    "announcement without acquire": (
        "{ await(announced(rank, peer), sent[peer] + 1); }",
        "{\n    while ((int)(Flag(*announced(rank, peer)).load(cuda::memory_order_relaxed) - (sent[peer] + 1)) < 0) {\n"
        "    }\n  }"),
    "ways without acquire": (
        "return found_rounds().load(cuda::memory_order_acquire) == *ended + 1;",
        "return found_rounds().load(cuda::memory_order_relaxed) == *ended + 1;"),
    "end without release": (
        "raise(tables.done(p, tables.rank), ++tables.sent[p]);",
        "Flag(*tables.done(p, tables.rank)).store(++tables.sent[p], cuda::memory_order_relaxed);"),
    "no wait for the end": (
        "await(tables.done(tables.rank, p), ++tables.received[p]);", "++tables.received[p];"),
    "no copy of what no kernel has stored": ("  if (!stored) copy_segments(forward);\n", ""),
    "no count of what kernels have stored": (
        "forwarded ? is_counted(forward) :", "forwarded ? true :"),
}


def run(options, text, folder):
    program = pathlib.Path(folder) / "program.cu"
    program.write_text(text)
    done = subprocess.run([options.cuco, "run", "--ranks", options.ranks, "--check", "--schedules",
                           options.schedules, program], capture_output=True, text=True)
    right = done.returncode == 0 and "PASS" in done.stdout and "FAIL" not in done.stdout
    return right, done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cuco")
    parser.add_argument("generate")
    parser.add_argument("program")
    parser.add_argument("--design", default="producers")
    parser.add_argument("--ranks", default="4")
    parser.add_argument("--schedules", default="3")
    parser.add_argument("--mutants", action="store_true")
    options = parser.parse_args()
    made = subprocess.run([options.generate, options.design, options.program], capture_output=True, text=True)
    print(made.stderr, end="")
    if made.returncode != 0:
        return 1
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        if not options.mutants:
            right, output = run(options, made.stdout, folder)
            print("passed" if right else output)
            return 0 if right else 1
        mutants = LANE_MUTANTS if "lanes" in options.design else MUTANTS
        for name, (old, new) in mutants.items():
            if made.stdout.count(old) != 1:
                print(f"FAILED  {name}: its place is not in the text")
                failed += 1
                continue
            right, output = run(options, made.stdout.replace(old, new), folder)
            failed += right
            print(f"{'FAILED: not found' if right else 'found'}  {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
