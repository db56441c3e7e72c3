#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how time and memory of the virtual cluster grow with ranks and bytes, and writes the table.

    linearity.py CUCO [--repeat N]

One run of exchange.cu is an all-gather and an all-to-all through GIN; the time is the whole run with the
program already built, the best of N; the server's own processor time tells more on a busy machine. Memory
is the largest resident size of the server: its own and the device memory that it maps.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).parent


def resident_mib(pid):
    try:
        for line in open(f"/proc/{pid}/status", encoding="utf-8"):
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


def processor_seconds(pid):
    try:
        fields = open(f"/proc/{pid}/stat", encoding="utf-8").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def server_of(pid):
    """The cuco-vcluster below a process."""
    try:
        children = open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8").read().split()
    except OSError:
        return None
    for child in children:
        try:
            if open(f"/proc/{child}/comm", encoding="utf-8").read().startswith("cuco-vcluster"):
                return child
        except OSError:
            continue
        if found := server_of(child):
            return found
    return None


def run(cuco, ranks, size):
    command = [cuco, "run", "--ranks", str(ranks), "--topology", "ib2x8", "--nvcc", "-DNCCL_GIN_GDAKI_ENABLE=0",
               str(HERE / "exchange.cu"), "--", str(size)]
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak = [0.0]
    used = [0.0]

    def watch():
        server = None
        while process.poll() is None:
            server = server or server_of(process.pid)
            if server:
                peak[0] = max(peak[0], resident_mib(server))
                used[0] = max(used[0], processor_seconds(server))
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    out, errors = process.communicate()
    seconds = time.monotonic() - start
    watcher.join()
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: {errors}")
    return seconds, used[0], peak[0], out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cuco")
    parser.add_argument("--repeat", type=int, default=2)
    arguments = parser.parse_args()
    run(arguments.cuco, 2, 1 << 20)  # Builds the program.
    print("| ranks | MiB per rank | MiB moved | seconds | server, processor seconds | ms per MiB | server, MiB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for ranks in (2, 4, 8, 16):
        for mib in (1, 4, 16):
            results = [run(arguments.cuco, ranks, mib << 20) for _ in range(arguments.repeat)]
            if len({result[3] for result in results}) != 1:
                sys.exit(f"{ranks} ranks, {mib} MiB: two runs differ")
            # Every rank gets ranks x mib in the all-gather and mib in the all-to-all.
            moved = ranks * (ranks * mib + mib)
            used = min(r[1] for r in results)
            print(f"| {ranks} | {mib} | {moved} | {min(r[0] for r in results):.2f} | {used:.2f} | {1000 * used / moved:.2f} | "
                  f"{max(r[2] for r in results):.0f} |", flush=True)


main()
