#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `cuco run --check` says around its findings, and what its JSON holds.

    surface.py CUCO SOURCE
"""
import json
import pathlib
import subprocess
import sys
import tempfile

cuco, source = sys.argv[1:3]
failures = 0


def run(case, *flags):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "found.json"
        result = subprocess.run([cuco, "run", "--check", "--json", str(out), *flags, source, "--", case],
                                capture_output=True, text=True, timeout=600)
        found = json.loads(out.read_text()) if out.exists() else None
    return result, found


def expect(holds, what, result):
    global failures
    print(f"{'ok' if holds else 'FAILED':<7} {what}", flush=True)
    if not holds:
        failures += 1
        print(result.returncode, result.stdout + result.stderr, sep="\n")


result, found = run("fail_in_order")
expect(result.returncode == 1 and "no findings; the program ran to its end and returned 1" in result.stderr,
       "a program that returned 1 was seen whole", result)
expect(found["whole"] and found["program_exit_code"] == 1 and found["exit_code"] == 1 and not found["findings"],
       "and JSON says so", result)

result = subprocess.run([cuco, "--json", "run", "--check", source, "--", "fail_in_order"], capture_output=True,
                        text=True, timeout=600)
expect(json.loads(result.stdout)["program_exit_code"] == 1, "JSON on standard output stands there alone", result)
result = subprocess.run([cuco, "--json", "run", "--check", "--schedules", "1", source, "--", "fail_in_order"],
                        capture_output=True, text=True, timeout=600)
expect(json.loads(result.stdout)["schedules"] == [0, 1], "under schedules, too", result)

result, found = run("leave_early")
expect("ended while its streams had work to do" in result.stderr, "pending work is named", result)

result, found = run("leak", "--schedules", "2")
words = result.stderr
expect(result.returncode == 66 and "identical under 2 adversarial schedules" in words,
       "a leak does not keep the schedules from being run", result)
expect(found["schedules"] == [0, 1, 2] and [one["kind"] for one in found["findings"]] == ["leak"],
       "and is told once", result)
one = found["findings"][0]
expect(one["count"] == 3 and one["ranks"] == [] and one["hint"] and one["schedule"] == 0
       and one["where"]["file"].endswith("surface.cu"), "with its place, advice and count", result)

result, found = run("reduce_too_much")
expect(any("ncclAllReduce writes 4096 bytes of its receive buffer at offset 0 of 4000 bytes: 96 too many"
           in one["message"] for one in found["findings"]), "an overflow is told by call, buffer and bytes", result)

result, _ = run("no_group", "--ranks", "2")
expect("one thread makes the calls of ranks 0 and 1" in result.stderr, "a missing group is warned of", result)
result, _ = run("group", "--ranks", "2")
expect(result.returncode == 0 and "one thread makes" not in result.stderr, "and a group is not", result)

sys.exit(1 if failures else 0)
