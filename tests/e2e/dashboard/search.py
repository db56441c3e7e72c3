#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A browser beside a real search, small enough for that: rows as they are judged, its end, a timeline on request.

    search.py CUCO BUILD_FOLDER WORKLOADS
"""
import pathlib
import subprocess
import sys
import tempfile

import driver
from runs import Server

CUCO, BUILD, WORKLOADS = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
work = driver.ready(BUILD, "search.mjs")
screenshots = BUILD / "screenshots"
screenshots.mkdir(exist_ok=True)

with tempfile.TemporaryDirectory() as root, open(f"{root}/search.log", "w+") as log, Server(CUCO, root) as server:
    search = subprocess.Popen([CUCO, "optimize", str(WORKLOADS / "silu_and_mul"), "--candidates", "4"], cwd=root, stdout=log,
                              stderr=subprocess.STDOUT)
    node = subprocess.run(["node", "search.mjs", server.url, str(screenshots)], cwd=work, timeout=900)
    ended = search.wait(60)
    if node.returncode or ended:
        print(pathlib.Path(log.name).read_text())
    sys.exit(node.returncode or ended)
