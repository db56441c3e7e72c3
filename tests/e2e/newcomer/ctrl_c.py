#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: answered at once, also between two steps of a search; ended within two seconds by the second one,
and no process stays.

    ctrl_c.py CUCO
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

SAYS = "stopping after the current candidate; press Ctrl-C again to stop now"
ANSWERS_WITHIN = 1.0
ENDS_WITHIN = 2.0
ENDS_STEP_WITHIN = 10.0  # One step of reading the program: a run of the seed on one shape.
ALLOWANCE = 3.0  # A machine that runs other tests beside this one is slower than a person's.


def wait_for(log, text, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if text in log.read_text():
            return
        time.sleep(0.02)
    sys.exit(f"did not say '{text}' within {seconds} s:\n{log.read_text()}")


def processes():
    """Each process as (number, when it began), with its parent's number."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] != "Z":
            found[int(folder.name), fields[19]] = int(fields[1])
    return found


def below(parent):
    """All that a process has started, however deep."""
    found, parents, all_of_them = set(), {parent}, processes()
    while True:
        new = {key for key, of in all_of_them.items() if of in parents and key not in found}
        if not new:
            return found
        found |= new
        parents |= {number for number, _ in new}


class Search:
    """cuco in a folder, with what it says in a file."""

    def __init__(self, cuco, folder, *words):
        self.log = pathlib.Path(folder) / "log"
        self.children = set()
        with self.log.open("w") as out:
            self.process = subprocess.Popen([cuco, *words], cwd=folder, stdout=out, stderr=out)

    def interrupt(self):
        self.children |= below(self.process.pid)
        self.process.send_signal(signal.SIGINT)

    def end(self, seconds):
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            sys.exit(f"still there after {seconds} s:\n{self.log.read_text()}")
        if status not in (130, -signal.SIGINT):
            sys.exit(f"exit {status}:\n{self.log.read_text()}")
        limit = time.monotonic() + ENDS_WITHIN * ALLOWANCE
        while left := self.children & processes().keys():
            if time.monotonic() > limit:
                names = [pathlib.Path(f"/proc/{number}/cmdline").read_text().replace("\0", " ") for number, _ in left]
                sys.exit(f"left behind: {names}")
            time.sleep(0.05)


def twice_during_the_seed(cuco, folder):
    search = Search(cuco, folder, "optimize", "silu_and_mul")
    wait_for(search.log, "target", 120)
    search.interrupt()
    wait_for(search.log, SAYS, ANSWERS_WITHIN * ALLOWANCE)
    search.interrupt()
    search.end(ENDS_WITHIN * ALLOWANCE)


def once_between_analysis_and_search(cuco, folder):
    """The shipped example gathers, so runs of the seed show what its blocks touch before anything is proposed."""
    subprocess.run([cuco, "init", "mine"], cwd=folder, check=True, capture_output=True)
    search = Search(cuco, folder, "optimize", "mine", "--candidates", "4")
    wait_for(search.log, "analyse", 150)
    search.interrupt()
    wait_for(search.log, SAYS, ANSWERS_WITHIN * ALLOWANCE)
    search.end(ENDS_STEP_WITHIN * ALLOWANCE)
    said = search.log.read_text()
    if "cuco: interrupted; continue with: cuco resume 0001\n" not in said or re.search(r"#1\b", said):
        sys.exit(f"went on, or cannot be resumed:\n{said}")


def main():
    cuco = os.path.abspath(sys.argv[1])
    for step in (twice_during_the_seed, once_between_analysis_and_search):
        with tempfile.TemporaryDirectory() as folder:
            step(cuco, folder)
            print("ok  ", step.__name__.replace("_", " "), flush=True)


main()
