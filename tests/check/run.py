#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs with known bugs, and their twins without, under `cuco run --check`.

    run.py CUCO SOURCE... [--only CASE]

A source lists its cases in its head, one a line:

    // CASE name kind[,kind...] [--flag of cuco run ...]

`none` expects no finding at all; otherwise every kind named must be found and no other. Prints a
table and exits with 1 if a line of it is wrong.
"""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def cases(source):
    for line in source.read_text().splitlines():
        match = re.match(r"// CASE (\S+) (\S+)\s*(.*)", line)
        if match:
            yield match[1], set(match[2].split(",")) - {"none"}, match[3].split()


def run(cuco, source, name, flags, folder):
    out = pathlib.Path(folder) / f"{source.stem}-{name}.json"
    command = [cuco, "run", "--check", "--json", str(out), "--nvcc", "-DNCCL_GIN_GDAKI_ENABLE=0"]
    if "mpi" in source.stem:
        folders = subprocess.run(["mpicc", "--showme:incdirs"], capture_output=True, text=True)
        for include in folders.stdout.split():
            command += ["--nvcc", "-I" + include]
        command += ["--nvcc", "-lmpi", "--nvcc", "-DOMPI_SKIP_MPICXX"]
    result = subprocess.run(command + flags + [str(source), "--", name],
                            capture_output=True, text=True, timeout=300)
    found = {}
    if out.exists():
        for finding in json.loads(out.read_text()):
            found[finding["kind"]] = found.get(finding["kind"], 0) + finding["count"]
    return result, found


def main():
    arguments = sys.argv[1:]
    only = None
    if "--only" in arguments:
        at = arguments.index("--only")
        only = arguments[at + 1]
        del arguments[at:at + 2]
    cuco, sources = arguments[0], [pathlib.Path(name) for name in arguments[1:]]
    bad = 0
    total = 0
    print(f"{'program':<14} {'case':<34} {'expected':<24} found")
    with tempfile.TemporaryDirectory() as folder:
        wanted = [(source, *case) for source in sources for case in cases(source)
                  if only is None or case[0] == only]
        # The first of a source builds it for the others.
        started = {}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for source, name, expected, flags in wanted:
                if source not in started:
                    started[source] = [pool.submit(run, cuco, source, name, flags, folder)]
                    started[source][0].exception()
                else:
                    started[source].append(
                        pool.submit(run, cuco, source, name, flags, folder))
            for source, name, expected, flags in wanted:
                total += 1
                result, found = started[source].pop(0).result()
                right = set(found) == expected and result.returncode == (66 if expected else 0)
                words = ", ".join(sorted(found)) or "none"
                if result.returncode not in (0, 66):
                    words += f" (exit {result.returncode})"
                print(f"{source.stem:<14} {name:<34} {', '.join(sorted(expected)) or 'none':<24} "
                      f"{words}{'' if right else '   <-- wrong'}", flush=True)
                if not right or only:
                    sys.stdout.write(result.stdout + result.stderr)
                bad += not right
    print(f"{total - bad} of {total} as expected")
    return 1 if bad or not total else 0


sys.exit(main())
