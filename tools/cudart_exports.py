#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the tables of exports (src/shims/cudart, src/shims/cudriver), the code made of them and docs/ in step.

  stubs TABLE OUTPUT      writes a C++ file with every function that is not written by hand
  docs TABLE OUTPUT       writes the table as Markdown
  check TABLE LIBRARY [REAL]  compares the table with what a library exports, and with the real one
  tested TABLE LIBRARY CALLS [--update]   compares tested.txt beside the table with the functions that
                          a test run called (CALLS, made by tests/shims/run.py), or rewrites it

A function of the driver in state 'same' is one of the runtime's: its note is name and parameters.
What the documents call tested is in tested.txt: no function gets there but by being called.
"""
import pathlib
import re
import subprocess
import sys

STATES = ("works", "partly", "unsupported", "same")
ROOT = pathlib.Path(__file__).resolve().parent.parent


def is_driver(table):
    return "cudriver" in str(table)


def read(path):
    rows = []
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        name, state, note = (line.split("\t") + ["", ""])[:3]
        if state not in STATES:
            sys.exit(f"{path}:{number}: unknown state: {state}")
        rows.append((name, state, note))
    return rows


def exports(library, driver):
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                          capture_output=True).stdout
    names = {line.split()[-1].split("@")[0] for line in text.splitlines()}
    return {name for name in names
            if re.match("cu[A-Z]" if driver else "cuda|__cuda", name)}


def same(name, mapping):
    """A function of the driver that calls the runtime's with the same parameters."""
    called, types = re.fullmatch(r"(\w+)\((.*)\)", mapping).groups()
    types = [t for t in types.split(",") if t]
    parameters = ", ".join(f"{t} a{i}" for i, t in enumerate(types))
    arguments = ", ".join(f"a{i}" for i in range(len(types)))
    guard = "initialised" if name.startswith("cuDevice") else "ready"
    return [f'extern "C" Error {called}({", ".join(types)});',
            f"CUCO_DRIVER Error {name}({parameters}) {{",
            f"  if (const Error status = {guard}(); status != 0) return status;",
            f"  return result_of({called}({arguments}));", "}"]


def stubs(table, output):
    space = "cudriver" if is_driver(table) else "cudart"
    header, macro = ("driver", "CUCO_DRIVER") if is_driver(table) else ("runtime", "CUCO_CUDART")
    lines = [f"// Generated from src/shims/{space}/exports.tsv by tools/cudart_exports.py.",
             f'#include "shims/{space}/{header}.h"', "", f"using namespace cuco::{space};", ""]
    for name, state, note in read(table):
        if state == "unsupported":
            lines.append(f'{macro} cuco::{space}::Error {name}() {{ return unsupported("{name}"); }}')
        elif state == "same":
            lines += same(name, note)
    pathlib.Path(output).write_text("\n".join(lines) + "\n")


def described(table):
    """The rows as a reader wants them: what is the runtime's has the runtime's state."""
    rows = read(table)
    if not is_driver(table):
        return rows
    runtime = {row[0]: row for row in read(ROOT / "src/shims/cudart/exports.tsv")}
    out = []
    for name, state, note in rows:
        if state == "same":
            called = note.split("(")[0]
            state, more = runtime[called][1:]
            note = f"`{called}`" + (f": {more}" if more else "")
        out.append((name, state, note))
    return out


def tested_file(table):
    return pathlib.Path(table).with_name("tested.txt")


def read_tested(table):
    return {line for line in tested_file(table).read_text().splitlines() if line and not line.startswith("#")}


def shown_state(name, state, tested):
    """What the documents say: code that no test has called is not said to work."""
    if state == "unsupported":
        return state
    return ("tested" if name in tested else "untested") + (", partly" if state == "partly" else "")


def docs(table, output):
    tested = read_tested(table)
    rows = [(name, shown_state(name, state, tested), note) for name, state, note in described(table)]
    count = {word: sum(row[1].split(",")[0] == word for row in rows) for word in ("tested", "untested", "unsupported")}
    library, real, error = (
        ("libcuda.so.1", "the driver's library of CUDA 13.0", "CUDA_ERROR_NOT_SUPPORTED")
        if is_driver(table) else
        ("libcudart.so.13", "NVIDIA's library of CUDA 13.0", "cudaErrorNotSupported"))
    source = "cudriver" if is_driver(table) else "cudart"
    lines = [f"# {library} on the virtual GPU", "",
             f"The {len(rows)} functions that {real} exports, and the state of each here:",
             f"{count['tested']} are tested, {count['untested']} are written but untested, "
             f"{count['unsupported']} are not supported.", "",
             "*Tested*: a test that passes in CI calls it. *Untested*: no test does. *Partly*: the note says what",
             f"is missing. An unsupported function returns `{error}`",
             "and is named once on standard error.", ""]
    if is_driver(table):
        lines += ["The driver API is built on the virtual runtime ([cudart.md](cudart.md)): streams, events, graphs and",
                  "kernels are the runtime's, contexts of one device share its memory, and a module is PTX text or a",
                  "fat binary that contains PTX. Programs that use NVRTC get PTX where they ask for machine code",
                  "(`nvrtcGetCUBIN`). Libraries that use the driver's private tables (a statically linked runtime,",
                  "cuBLAS, cuDNN) do not start.", ""]
    lines += [f"Generated by `tools/cudart_exports.py docs` from `src/shims/{source}/exports.tsv`; do not edit.", "",
              "| function | state | note |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {state} | {note} |" for name, state, note in rows]
    pathlib.Path(output).write_text("\n".join(lines) + "\n")


def check(table, library, real=None):
    driver = is_driver(table)
    names = {row[0] for row in read(table)}
    bad = [f"not exported: {name}" for name in sorted(names - exports(library, driver))]
    bad += [f"exported but not in the table: {name}"
            for name in sorted(exports(library, driver) - names)]
    if real:
        bad += [f"real library has: {name}" for name in sorted(exports(real, driver) - names)]
        bad += [f"real library has not: {name}" for name in sorted(names - exports(real, driver))]
    sys.exit("\n".join(bad) if bad else 0)


def called_functions(library, calls):
    """The exports that were called; names of one address are one function."""
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                          capture_output=True).stdout
    address = {words[2].split("@")[0]: words[0] for words in (line.split() for line in text.splitlines())
               if len(words) == 3}
    called = {address[name] for name in pathlib.Path(calls).read_text().split() if name in address}
    return {name for name, at in address.items() if at in called}


def tested(table, library, calls, update=""):
    called = {name for name, state, _ in read(table) if state != "unsupported"} & called_functions(library, calls)
    if update:
        lines = ["# Functions that the tests call: written by tools/cudart_exports.py tested … --update.", *sorted(called)]
        tested_file(table).write_text("\n".join(lines) + "\n")
        return
    listed = read_tested(table)
    for name in sorted(called - listed):
        print(f"{name} is tested now: run tools/cudart_exports.py tested {table} … --update")
    missing = sorted(listed - called)
    sys.exit("\n".join(f"{tested_file(table)} says tested, but no test called {name}" for name in missing) if missing else 0)


if __name__ == "__main__":
    {"stubs": stubs, "docs": docs, "check": check, "tested": tested}[sys.argv[1]](*sys.argv[2:])
