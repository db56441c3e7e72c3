#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks as processes on the loopback library, with a driver that stands in for NVIDIA's.

    process_ranks.py LIBRARY_FOLDER DRIVER_FOLDER PROGRAM
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

library, driver, program = map(pathlib.Path, sys.argv[1:4])
RANKS = 4


def run(what="", *, kill=(), patience=60):
    """Starts the network's process and the ranks: their statuses, all that they said, the report."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # Under the name that cuco gives it, and with links as fast as one likes.
        topology = folder / "network"
        topology.write_text("name=test\nnodes=1\ngpus_per_node=4\ndomain=node\nnic=1\nnic_gap_ps=0\ngin_post_ps=0\n" +
                            "".join(f"{link}_bytes_per_s=1000000000000\n{link}_latency_ps=1000\n"
                                    for link in ("load_store", "nic", "host")), encoding="utf-8")
        common = dict(os.environ, LD_LIBRARY_PATH=f"{driver}:{library}", CUCO_LOOPBACK_RANKS=str(RANKS),
                      CUCO_LOOPBACK_DIR=name, CUCO_LOOPBACK_REPORT=str(folder / "report"),
                      CUCO_LOOPBACK_WATCHDOG=str(patience), CUCO_LOOPBACK_TOPOLOGY=str(topology))
        for unwanted in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
            common.pop(unwanted, None)
        network = subprocess.Popen([library / "cuco-loopback-network"], env=common, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        ranks = []
        for rank in range(RANKS):
            mpi = {"OMPI_COMM_WORLD_SIZE": str(RANKS), "OMPI_COMM_WORLD_RANK": str(rank),
                   "LD_PRELOAD": str(library / "libcuco_loopback_preload.so")}
            ranks.append(subprocess.Popen([program, *([what] if what else [])], env=common | mpi,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        while kill and not (folder / "met").exists():
            time.sleep(0.01)
        if what == "fails":
            ranks[1].wait(timeout=40)
        for one in kill:
            (network if one == "network" else ranks[one]).kill()
        said = ""
        statuses = []
        for rank in ranks:
            try:
                said += rank.communicate(timeout=40)[0]
            except subprocess.TimeoutExpired:
                for one in (*ranks, network):
                    one.kill()
                sys.exit(f"{what}: a rank hangs\n{said}{network.communicate()[0]}")
            statuses.append(rank.returncode)
        said += network.communicate(timeout=20)[0]
        report = folder / "report"
        return statuses, said, report.read_text(encoding="utf-8") if report.exists() else ""


def expect(condition, *seen):
    if not condition:
        sys.exit("\n".join(map(str, seen)))


statuses, said, report = run()
expect(statuses == [0] * RANKS and said.count(": ok") == RANKS, statuses, said)
lines = [json.loads(line) for line in report.splitlines()]
expect([line["rank"] for line in lines] == list(range(RANKS)) and lines[0]["lsa_used"], report)

# One dies: the others end, and hear whose process it was.
statuses, said, report = run("dies")
expect(statuses == [1, 0, 1, 1] and "the process of rank 1" in said and "has died" in said, statuses, said)
expect("has died" in report, report)

# One ends as it should, but too early: who waits for it gets an error.
statuses, said, _ = run("leaves")
expect(statuses == [0] * RANKS and
       said.count(": 6: ncclCommSplit waits for rank 1, whose process has ended") == RANKS - 1, statuses, said)

# One fails, and mpirun kills another for it: that is not the reason.
statuses, said, report = run("fails", kill=[3])
expect(statuses[1] == 7 and "has died" not in said + report, statuses, said)

# They end without a word, but when all is done.
statuses, said, report = run("quick")
expect(statuses == [0] * RANKS and said.count(": ok") == RANKS and "has died" not in said + report, statuses, said)

# One waits for ever.
statuses, said, report = run("hangs", patience=3)
expect(statuses == [86] * RANKS, statuses, said)
expect("ncclCommSplit on communicator 1: ranks 0, 2, 3 called it; rank 1 did not" in said, said)
expect("rank 1 did not" in report, report)

# One makes another call.
statuses, said, _ = run("differs")
expect(statuses == [0] * RANKS and "mismatched calls on communicator 1" in said, statuses, said)

# Who plays the network dies.
statuses, said, _ = run("hangs", kill=["network"])
expect(statuses == [1] * RANKS and "the network's process has ended" in said, statuses, said)

# Without it there is nothing to connect to.
done = subprocess.run([program], env=dict(os.environ, LD_LIBRARY_PATH=f"{driver}:{library}", OMPI_COMM_WORLD_SIZE="2",
                                          OMPI_COMM_WORLD_RANK="0", CUCO_LOOPBACK_RANKS="2"),
                      capture_output=True, text=True, timeout=20)
expect(done.returncode == 3 and "cuco run --on loopback" in done.stderr, done.returncode, done.stderr)
print("process ranks: ok")
