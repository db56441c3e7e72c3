#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs with known bugs, and their twins without, under `cuco run --check`.

    run.py CUCO SOURCE... [--only CASE]

A source lists its cases in its head, one a line:

    // CASE name kind[@mark[/mark]][,kind...] [--flag of cuco run ...]

`none` expects no finding at all; otherwise every kind named must be found and no other. With marks, a finding of that
kind must name those lines, which end in `// :mark`, as its two sides. Prints a table and exits with 1 if a line of it is
wrong.
"""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def cases(source):
    """Name, the marks of each kind, flags."""
    for line in source.read_text().splitlines():
        match = re.match(r"// CASE (\S+) (\S+)\s*(.*)", line)
        if match:
            expected = {}
            for word in match[2].split(","):
                kind, _, marks = word.partition("@")
                if kind != "none":
                    expected[kind] = set(marks.split("/")) if marks else None
            yield match[1], expected, match[3].split()


def sides(source, finding):
    """The marks of the lines that a finding names; lines without a mark as numbers."""
    lines = source.read_text().splitlines()
    found = set()
    for site in (finding["where"], finding.get("other")):
        if site is None or not site["file"].endswith(source.name) or site["line"] < 1:
            continue
        # A statement may have several lines; the mark is at the end of one of them.
        mark = None
        for line in lines[site["line"] - 1:site["line"] + 3]:
            mark = re.search(r"// :(\S+)$", line)
            if mark or ";" in line or line.rstrip().endswith(("{", "}")):
                break
        found.add(mark[1] if mark else str(site["line"]))
    return found


def run(cuco, source, name, flags, folder):
    out = pathlib.Path(folder) / f"{source.stem}-{name}.json"
    command = [cuco, "run", "--check", "--json", str(out), "--nvcc", "-DNCCL_GIN_GDAKI_ENABLE=0"]
    result = subprocess.run(command + flags + [str(source), "--", name],
                            capture_output=True, text=True, timeout=900)
    found = {}
    if out.exists():
        for finding in json.loads(out.read_text())["findings"]:
            found.setdefault(finding["kind"], []).append(sides(source, finding))
    return result, found


def is_right(expected, found):
    if set(expected) != set(found):
        return False
    return all(marks is None or marks in found[kind] for kind, marks in expected.items())


def words_of(found):
    if not found:
        return "none"
    return ", ".join(kind + "".join("@" + "/".join(sorted(marks)) for marks in places[:2])
                     for kind, places in sorted(found.items()))


def main():
    arguments = sys.argv[1:]
    only = None
    if "--only" in arguments:
        at = arguments.index("--only")
        only = arguments[at + 1]
        del arguments[at:at + 2]
    arguments = [word for word in arguments if word != "--quiet"]
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
                right = is_right(expected, found) and result.returncode == (66 if expected else 0)
                words = words_of(found)
                if result.returncode not in (0, 66):
                    words += f" (exit {result.returncode})"
                print(f"{source.stem:<14} {name:<34} {', '.join(sorted(expected)) or 'none':<24} "
                      f"{words}{'' if right else '   <-- wrong'}", flush=True)
                if (not right or only) and "--quiet" not in sys.argv:
                    sys.stdout.write(result.stdout + result.stderr)
                bad += not right
    print(f"{total - bad} of {total} as expected")
    return 1 if bad or not total else 0


sys.exit(main())
