#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C during a search: answered at once, and ended within two seconds by the second one.

    ctrl_c.py CUCO
"""
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

SAYS = "stopping after the current candidate; press Ctrl-C again to stop now"
ANSWERS_WITHIN = 1.0
ENDS_WITHIN = 2.0
ALLOWANCE = 3.0  # A machine that runs other tests beside this one is slower than a person's.


def wait_for(log, text, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if text in log.read_text():
            return
        time.sleep(0.02)
    sys.exit(f"did not say '{text}' within {seconds} s:\n{log.read_text()}")


def main():
    cuco = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        with log.open("w") as out:
            search = subprocess.Popen([cuco, "optimize", "silu_and_mul"], cwd=folder, stdout=out, stderr=out)
        wait_for(log, "target", 120)
        search.send_signal(signal.SIGINT)
        wait_for(log, SAYS, ANSWERS_WITHIN * ALLOWANCE)
        search.send_signal(signal.SIGINT)
        try:
            status = search.wait(ENDS_WITHIN * ALLOWANCE)
        except subprocess.TimeoutExpired:
            search.kill()
            sys.exit(f"still there {ENDS_WITHIN * ALLOWANCE} s after the second Ctrl-C")
        if status not in (130, -signal.SIGINT):
            sys.exit(f"exit {status}:\n{log.read_text()}")
    print("answered, and ended")


main()
