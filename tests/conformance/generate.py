#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tabular conformance cases, one small .ptx file per behaviour, into a folder.

    generate.py FOLDER [--assemble]

--assemble: ptxas must accept every case of the folder.

The directives at the head of a case are explained in case.h; the tables are in tables_*.py. Cases
that no table describes are written by hand in cases/.
"""
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import tables_alu
import tables_cvt
import tables_float
import tables_matrix
import tables_memory
import tables_warp


def assemble(path):
    done = subprocess.run(["ptxas", "-arch=sm_90", "-o", "/dev/null", path], capture_output=True, text=True)
    return done.returncode == 0 or print(f"{path}: {done.stderr.strip()}")


def main():
    folder = pathlib.Path(sys.argv[1])
    cases = {}
    everything = [case for table in (tables_alu, tables_float, tables_cvt, tables_memory, tables_warp, tables_matrix) for case in table.cases()]
    for case in everything:
        assert case.name not in cases, f"two cases of one name: {case.name}"
        cases[case.name] = case.text()
    for path in (pathlib.Path(__file__).parent / "cases").glob("*.ptx"):
        assert path.stem not in cases, f"two cases of one name: {path.stem}"
        cases[path.stem] = path.read_text()
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.ptx"):
        if path.stem not in cases:
            path.unlink()
    for name, text in cases.items():
        path = folder / f"{name}.ptx"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    if "--assemble" in sys.argv:
        with ThreadPoolExecutor(3) as pool:
            if not all(list(pool.map(assemble, sorted(folder.glob("*.ptx"))))):
                sys.exit(1)
    print(f"{len(cases)} cases in {folder}")


if __name__ == "__main__":
    main()
