#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of a library that there is no code for: library_stubs.py SONAME OUTPUT HEADER…

Writes OUTPUT.cc, in which every function that the headers declare says its name on standard error and
returns the library's "not supported" (weak, so that one that is written by hand counts), and
OUTPUT.map, by which the linker exports them as the real library does.
"""
import pathlib
import re
import sys

# What returns a status, and the value that says "not supported".
STATUSES = {"cublasStatus_t": 15, "cufftResult": 16, "curandStatus_t": 999}


def main():
    soname, output, headers = sys.argv[1], sys.argv[2], sys.argv[3:]
    text = "\n".join(pathlib.Path(header).read_text() for header in headers)
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    found = dict(reversed(pair) for pair in re.findall(
        rf"\b({'|'.join(STATUSES)})\s+(?:\w+\s+)?(\w+)\s*\(", text))
    if not found:
        sys.exit(f"library_stubs: no function in {', '.join(headers)}")
    library = soname.split(".")[0]
    code = ["#include <cstdio>", 'extern "C" {']
    for name, status in sorted(found.items()):
        code.append(f'__attribute__((weak)) int {name}() {{\n'
                    f'  std::fputs("cuco: {name} is not part of the virtual {library}\\n", stderr);\n'
                    f'  return {STATUSES[status]};\n}}')
    code.append("}")
    pathlib.Path(output + ".cc").write_text("\n".join(code) + "\n")
    names = " ".join(f"{prefix}*;" for prefix in ("cublas", "cufft", "curand"))
    pathlib.Path(output + ".map").write_text(f"{soname} {{\n  global: {names}\n  local: *;\n}};\n")


if __name__ == "__main__":
    main()
