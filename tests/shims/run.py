#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs with the libraries of the sanitizer build, everything else from the release build.

  run.py RELEASE ASAN OUT     build folders with `all` and `shim_libraries`; OUT is made anew

Programs load instrumented libcudart, libcuda, libnccl and libcuco-host; an error that the sanitizers
find ends the program, and so fails its test. The tests of the release build have run before, so that
no program has to be built: nvcc does not run under the sanitizer. OUT/calls has the exported
functions that were called: the tables in docs/ are checked against it.
"""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NCCL = (("collectives", "4"), ("graphs", "2"), ("threads", "4"), ("lifetime", "2"), ("gin", "4"))


def installed(release: pathlib.Path, asan: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    """The release build's programs beside the other's libraries; the path of that cuco."""
    shutil.rmtree(out, ignore_errors=True)
    (out / "bin").mkdir(parents=True)
    for program in (release / "bin").glob("cuco*"):
        os.link(program, out / "bin" / program.name)
    shutil.copytree(asan / "lib/cuco", out / "lib/cuco", symlinks=True)
    return out / "bin/cuco"


def sanitizer() -> str:
    """The runtime library: it has to be there before the program's own allocations."""
    return subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    release, asan, out = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    cuco = installed(release, asan, out)
    environment = {**os.environ, "CUCO_UNDER_TEST": str(cuco), "CUCO_CALL_LOG": str(out / "calls"), "LD_PRELOAD": sanitizer(),
                   # Programs leak on purpose, and libcuco-host comes before the sanitizer.
                   "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:protect_shadow_gap=0:"
                   f"suppressions={ROOT}/tests/shims/asan.supp"}
    commands = [[release / "bin/test_e2e_cudart", "--gtest_brief=1", "--gtest_filter=Cudart/*"]]
    commands += [[sys.executable, ROOT / "tests/e2e/nccl/run.py", cuco, ROOT / f"tests/e2e/nccl/{name}.cu", ranks]
                 for name, ranks in NCCL]
    failed = [command for command in commands if subprocess.run(command, env=environment, check=False).returncode != 0]
    for command in failed:
        print("failed:", *command)
    calls = set((out / "calls").read_text().split()) if (out / "calls").exists() else set()
    print(f"{len(commands)} commands, {len(failed)} failed; {len(calls)} exported functions called")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
