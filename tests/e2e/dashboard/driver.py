# SPDX-License-Identifier: Apache-2.0
"""The browser's driver, pinned by package-lock.json, in the build folder."""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def missing(what):
    required = "npm" in os.environ.get("CUCO_REQUIRE", "").split(",")
    print(f"{'required, but missing' if required else 'missing'}: {what}")
    sys.exit(1 if required else 77)


def ready(build, script):
    """The folder from which node runs the script; ends the test where something is missing."""
    for program in ("npm", "chromium"):
        if not shutil.which(program):
            missing(program)
    if not (build / "share/cuco/web/index.html").exists():
        missing("the built pages")
    work = build / "browser-tests"
    work.mkdir(exist_ok=True)
    lock = work / "package-lock.json"
    for name in ("package.json", script):
        shutil.copy(HERE / name, work)
    if not lock.exists() or lock.read_bytes() != (HERE / "package-lock.json").read_bytes():
        shutil.copy(HERE / "package-lock.json", lock)
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"], cwd=work, capture_output=True, text=True)
        if done.returncode:
            lock.unlink()
            missing("npm's packages: " + done.stderr[-500:])
    return work
