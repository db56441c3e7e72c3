#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prepares runs and a server, and lets pages.mjs look at every page in a real browser.

    browser.py CUCO BUILD_FOLDER
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

from runs import Run, Server, make_demo

CUCO, BUILD = sys.argv[1], pathlib.Path(sys.argv[2])
HERE = pathlib.Path(__file__).resolve().parent


def missing(what):
    required = "npm" in os.environ.get("CUCO_REQUIRE", "").split(",")
    print(f"{'required, but missing' if required else 'missing'}: {what}")
    sys.exit(1 if required else 77)


def install():
    """The browser's driver, pinned by package-lock.json, in the build folder."""
    work = BUILD / "browser-tests"
    work.mkdir(exist_ok=True)
    lock = work / "package-lock.json"
    for name in ("package.json", "pages.mjs"):
        shutil.copy(HERE / name, work)
    if not lock.exists() or lock.read_bytes() != (HERE / "package-lock.json").read_bytes():
        shutil.copy(HERE / "package-lock.json", lock)
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"], cwd=work, capture_output=True, text=True)
        if done.returncode:
            lock.unlink()
            missing("npm's packages: " + done.stderr[-500:])
    return work


if not shutil.which("npm"):
    missing("npm")
if not shutil.which("chromium"):
    missing("chromium")
if not (BUILD / "share/cuco/web/index.html").exists():
    missing("the built pages")
work = install()
screenshots = BUILD / "screenshots"
screenshots.mkdir(exist_ok=True)

with tempfile.TemporaryDirectory() as root:
    runs = make_demo(CUCO, root)
    subprocess.run([CUCO, "report", "demo", "--no-timeline", "-o", "report.html"], cwd=root, check=True, capture_output=True)
    for name in ("0002", "0003"):
        shutil.copytree(runs / "demo", runs / name)
    live, large, hostile = (Run(runs / name) for name in ("0001", "0002", "0003"))
    shutil.copy(HERE / "timeline.json", runs / "demo" / "timeline.json")
    live.hold()
    large.add(10_000)
    large.ask(500, 2_000)
    large.database.execute("BEGIN IMMEDIATE")
    for number in range(1, 10_000, 2):  # as many as a long search has
        large.profile(number, number % 100 / 100)
    large.database.execute("COMMIT")
    nasty = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    hostile.append("exchanged", {"decision": 12, "exchange": {
        "question": "q", "provider": nasty, "model": nasty, "role": nasty, "prompt": nasty, "answer": nasty, "prompt_tokens": 1,
        "answer_tokens": 1, "cached_tokens": 0, "reasoning_tokens": 0, "lost_tokens": 0, "dollars": 0.5, "answered_by": "", "seconds": 1.0}})
    hostile.add(because=nasty, directive=nasty, island=nasty, text=nasty, verdict="wrong-result", seconds=0)
    with Server(CUCO, root) as server:
        node = subprocess.Popen(["node", "pages.mjs", server.url, str(screenshots), f"{root}/report.html"], cwd=work,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        timer = threading.Timer(200, node.kill)
        timer.start()
        for line in node.stdout:  # the browser asks for what happens in the run, and then watches it
            if line.startswith("add"):
                live.add()
                node.stdin.write("added\n")
                node.stdin.flush()
            else:
                print(line, end="")
        timer.cancel()
        sys.exit(node.wait())
