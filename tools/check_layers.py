#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a file under src/ includes a module its own module may not see."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
allowed: dict[str, set[str]] = {}
for line in (root / "tools/layers.txt").read_text().splitlines():
    if line.strip() and not line.startswith("#"):
        module, _, deps = line.partition(":")
        unknown = set(deps.split()) - allowed.keys()
        if unknown:
            sys.exit(f"layers.txt: {module} names {sorted(unknown)} before they are declared")
        allowed[module.strip()] = set(deps.split())


def module_of(path: str) -> str | None:
    """The module with the longest name that is a folder above `path`."""
    folders = path.split("/")[:-1]
    for length in range(len(folders), 0, -1):
        if (name := "/".join(folders[:length])) in allowed:
            return name
    return None


bad = 0
for path in sorted((root / "src").rglob("*")):
    if path.suffix not in {".h", ".cc", ".cu", ".cuh", ".inc"}:
        continue
    module = module_of(str(path.relative_to(root / "src")))
    if module is None:
        print(f"{path.relative_to(root)}: its folder is not in tools/layers.txt")
        bad += 1
        continue
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*["<]([a-z_/]+/[^">]+)', line)
        other = module_of(match[1]) if match else None
        if other is not None and other != module and other not in allowed[module]:
            print(f"{path.relative_to(root)}:{number}: {module} may not include {other}")
            bad += 1
sys.exit(bad > 0)
