#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prepares runs and a server, and lets pages.mjs look at every page in a real browser.

    browser.py CUCO BUILD_FOLDER
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

import driver
from runs import Run, Server, make_demo

CUCO, BUILD = sys.argv[1], pathlib.Path(sys.argv[2])
HERE = pathlib.Path(__file__).resolve().parent


KNOWLEDGE = {"version": 1, "runs": {"0001": [
    {"situation": situation, "move": move, "tries": tries, "correct": correct, "predicted": [correct, gain], "measured": [measured, gain * measured],
     "best": 2.7 ** gain, "example": f"<b>gemm_allgather</b> run 0001 #{tries}"}
    for situation in ("all-gather after gemm · 4 ranks, one node", "send to one after gemm · 2 ranks, two nodes")
    for move, tries, correct, gain, measured in (
        ("LSA · producer-fused · per-chunk flag · warp · 64 KiB", 12, 11, 4.1, 0),
        ("LSA · own kernel · global barrier · block", 7, 7, 0.4, 3),
        ("GIN · put and wait in two kernels · per-peer signal · thread", 5, 2, -0.3, 0))]}}


work = driver.ready(BUILD, "pages.mjs")
screenshots = BUILD / "screenshots"
screenshots.mkdir(exist_ok=True)

with tempfile.TemporaryDirectory() as root:
    runs = make_demo(CUCO, root)
    shown = json.loads(subprocess.run([CUCO, "--json", "show", "demo"], cwd=root, check=True, capture_output=True).stdout)
    best, count = shown["best"], len(shown["candidates"])
    subprocess.run([CUCO, "report", "demo", "--no-timeline", "-o", "report.html"], cwd=root, check=True, capture_output=True)
    for name in ("0002", "0003"):
        shutil.copytree(runs / "demo", runs / name)
    live, large, hostile = (Run(runs / name) for name in ("0001", "0002", "0003"))
    kept = json.loads((HERE / "timeline.json").read_text())
    (runs / "demo" / "timelines").mkdir()
    for number in (best, 2):
        (runs / "demo" / "timelines" / f"{number}.json").write_text(json.dumps({**kept, "candidate": number}))
    live.hold()
    large.add(10_000)
    large.ask(500, 2_000)
    large.database.execute("BEGIN IMMEDIATE")
    for number in range(1, 10_000, 2):  # as many as a long search has
        large.profile(number, number % 100 / 100)
    large.database.execute("COMMIT")
    nasty = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    hostile.append("exchanged", {"decision": count, "exchange": {
        "question": "q", "provider": nasty, "model": nasty, "role": nasty, "prompt": nasty, "answer": nasty, "prompt_tokens": 1,
        "answer_tokens": 1, "cached_tokens": 0, "reasoning_tokens": 0, "lost_tokens": 0, "dollars": 0.5, "answered_by": "", "seconds": 1.0}})
    hostile.add(because=nasty, directive=nasty, island=nasty, text=nasty, verdict="wrong-result", seconds=0)
    with Server(CUCO, root) as server:
        node = subprocess.Popen(["node", "pages.mjs", server.url, str(screenshots), f"{root}/report.html", str(best), str(count)],
                                cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        timer = threading.Timer(200, node.kill)
        timer.start()
        for line in node.stdout:  # the browser asks for what happens in the run, and then watches it
            if line.startswith("add"):
                live.add()
                node.stdin.write("added\n")
                node.stdin.flush()
            elif line.startswith("learn"):
                (runs / "knowledge.json").write_text(json.dumps(KNOWLEDGE))
                node.stdin.write("learnt\n")
                node.stdin.flush()
            else:
                print(line, end="")
        timer.cancel()
        sys.exit(node.wait())
