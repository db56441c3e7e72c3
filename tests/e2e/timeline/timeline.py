#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuco run --timeline on a program whose tracks and arrows are known, by stores and by puts.

    timeline.py CUCO SOURCE
"""
import json
import os
import subprocess
import sys
import tempfile

cuco, source = sys.argv[1:3]


def line_of(comment):
    return 1 + next(i for i, text in enumerate(open(source)) if text.rstrip().endswith("// " + comment))


def run(*flags):
    # Half the code and half the time to parse it: only the proxy back end of GIN.
    command = [cuco, "run", "--ranks", "2", "--nvcc", "-DNCCL_GIN_GDAKI_ENABLE=0", *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def check_sound(events):
    """Slices of a row follow each other, and arrows begin and end in slices."""
    until, slices = {}, {}
    arrows = {"s": {}, "f": {}}
    for event in events:
        if event["ph"] == "M":
            continue
        row = event["pid"], event["tid"]
        if event["ph"] == "X":
            assert event["ts"] >= until.get(row, 0) - 1e-6, event
            until[row] = event["ts"] + event["dur"]
            slices.setdefault(row, []).append(event)
        elif event["ph"] in arrows:
            assert arrows[event["ph"]].setdefault(event["id"], event) is event
    assert arrows["s"].keys() == arrows["f"].keys()

    def slice_of(event):
        (found,) = [
            one
            for one in slices[event["pid"], event["tid"]]
            if one["ts"] <= event["ts"] < one["ts"] + one["dur"]
        ]
        return found

    return [(slice_of(arrows["s"][i]), slice_of(arrows["f"][i])) for i in arrows["s"]]


def check(mode, trace, kernel, wait_line, sender_row):
    events = trace["traceEvents"]
    arrows = check_sound(events)
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    slices = [e for e in events if e["ph"] == "X"]

    def named(event):
        return names[event["pid"]], rows[event["pid"], event["tid"]]

    assert set(names.values()) == {"host process 0", "GPU 0", "GPU 1"}, names
    calls = {e["name"].split(" x ")[0] for e in slices if named(e)[1] == "thread 0"}
    assert {"launch", "stream synchronize", "copy", "nccl submit"} <= calls, calls
    for gpu in 0, 1:
        peer = 1 - gpu
        (launch,) = [e for e in slices if e["name"] == kernel and e["cat"] == "kernel" and named(e)[0] == f"GPU {gpu}"]
        assert named(launch)[1].startswith("stream "), launch
        (reduction,) = [e for e in slices if e["cat"] == "collective" and named(e)[0] == f"GPU {gpu}"]
        assert "ncclAllReduce" in reduction["name"] and named(reduction) == named(launch), reduction
        assert reduction["ts"] >= launch["ts"] + launch["dur"] - 1e-3
        assert any(e["cat"] == "copy" and named(e)[0] == f"GPU {gpu}" for e in slices)
        # It waits for what its neighbour sends, and what is sent is sent within the kernel.
        row = f"waits at {os.path.basename(source)}:{wait_line}"
        mine = [(a, b) for a, b in arrows if named(b) == (f"GPU {gpu}", row)]
        assert [named(a) for a, b in mine] == [(f"GPU {peer}", sender_row + f" GPU {gpu}")], (mode, mine, arrows)
        ((sent, seen),) = mine
        assert launch["ts"] <= seen["ts"] and seen["ts"] + seen["dur"] <= launch["ts"] + launch["dur"] + 1e-3
        # The neighbour sends after 10 or 15 us; nobody can have seen it sooner.
        assert seen["ts"] + seen["dur"] >= sent["ts"] >= 10, (sent, seen)
        assert seen["dur"] > 8, seen


with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "trace.json")
    for mode, kernel, wait, row in (
        ("lsa", "by_stores", "wait", "stores to"),
        ("gin", "by_put", "signal", "puts to"),
    ):
        result = run("--timeline", file, source, "--", mode)
        print(result.stdout + result.stderr)
        assert result.returncode == 0 and "exchanged: ok" in result.stdout
        assert "timeline (predicted)" in result.stderr
        trace = json.load(open(file))
        if mode == "lsa":
            payload = [e for e in trace["traceEvents"] if e.get("cat") == "store" and f":{line_of('payload')}" in e["name"]]
            assert [e["args"]["bytes"] for e in payload] == [16384, 16384], payload
        else:
            assert sum(e["ph"] == "i" for e in trace["traceEvents"]) == 4  # payload and signal, twice
        check(mode, trace, kernel, line_of(wait), row)
        assert os.listdir(folder) == ["trace.json"]

    # What cannot be written is refused before anything runs, and nothing is left behind.
    before = open(file).read()
    os.mkdir(os.path.join(folder, "sub"))
    for bad, why in (
        (os.path.join(folder, "sub"), "it is a folder"),
        (os.path.join(folder, "none", "trace.json"), "No such file"),
        (os.path.join(file, "trace.json"), "Not a directory"),
        ("/proc/trace.json", "no timeline can be written"),
        ("/dev/null", "not a regular file"),
    ):
        result = run("--timeline", bad, source)
        assert result.returncode == 2, (bad, result)
        assert why in result.stderr and bad in result.stderr, result.stderr
        assert "exchanged" not in result.stdout
    assert sorted(os.listdir(folder)) == ["sub", "trace.json"] and open(file).read() == before
