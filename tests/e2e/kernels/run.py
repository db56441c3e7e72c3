#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py CUCO REWRITE PROGRAM DESIGN…: the program prints the same before and after each rewrite."""
import pathlib
import subprocess
import sys
import tempfile

cuco, rewrite, program, *designs = sys.argv[1:]


def output_of(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def prints(path: pathlib.Path) -> list[str]:
    lines = output_of(cuco, "run", "--check", str(path)).splitlines()
    return [line for line in lines if line.startswith("= ")]


expected = prints(pathlib.Path(program))
if not expected:
    sys.exit("the program prints nothing")
if any(" wrong " in line for line in expected):
    sys.exit("the program is wrong before any rewrite:\n" + "\n".join(expected))
for design in designs:
    with tempfile.TemporaryDirectory() as folder:
        changed = pathlib.Path(folder) / "rewritten.cu"
        changed.write_text(output_of(rewrite, program, *design.split(" · ")))
        actual = prints(changed)
        if expected != actual:
            print(changed.read_text())
            for before, after in zip(expected, actual):
                if before != after:
                    print(f"{before}\nis now\n{after}")
            sys.exit(f"{design}: {len(expected)} lines before, {len(actual)} after; they differ")
print(f"{len(expected)} results are the same for {len(designs)} designs")
