#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every correct program of this repository under the checker: there must be no finding.

    suite.py CUCO [NAME...]     NAME: only rows whose name contains one of them

Programs go through `cuco run --check`, seeds and solutions of workloads through `cuco judge --check`.
"""
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def runtime_programs():
    """Those that are to end well: the others have their errors on purpose; two free memory twice."""
    for path in sorted((ROOT / "tests/e2e/cudart/programs").glob("*.cu")):
        text = path.read_text()
        if re.search(r"^// exit: ", text, re.M) or path.stem in ("errors", "devices", "graph_memory", "memcpy_kinds"):
            continue
        ranks = re.search(r"^// ranks: (\d+)", text, re.M)
        yield f"cudart/{path.stem}", ["run", "--check", "--ranks", ranks[1] if ranks else "1", str(path)]


def conformance_programs():
    for path in sorted((ROOT / "tests/conformance/programs").glob("*.cu")):
        # Two fail on purpose; two leak, and stay as they were recorded on hardware.
        if path.stem not in ("illegal_address", "device_assert", "memory_kinds", "meet_by_mask"):
            yield f"conformance/{path.stem}", ["run", "--check", str(path)]


def nccl_programs():
    folder = ROOT / "tests/e2e/nccl"
    rows = [(name, ranks, None) for name in ("collectives", "lsa", "gin", "mpi") for ranks in (2, 4, 8)]
    rows += [(name, 4, None) for name in ("threads", "graphs", "types", "lifetime", "order_mpi", "hybrid_default")]
    rows += [(name, 8, topology) for name in ("gin", "mpi", "collectives", "hybrid_default")
             for topology in ("roce2x4",)]
    rows += [("gin", 2, "ib2x1"), ("collectives", 2, "ib2x1"), ("lsa", 4, "nvlink4"), ("lsa", 8, "nvlink8")]
    for name, ranks, topology in rows:
        command = ["run", "--check", "--ranks", str(ranks)]
        if topology:
            command += ["--topology", topology]
        if not name.endswith("default"):
            command += ["--nvcc", "-DNCCL_GIN_GDAKI_ENABLE=0"]
        yield f"nccl/{name} {ranks} {topology or ''}".strip(), command + [str(folder / f"{name}.cu")]


def judged_programs():
    for seed in sorted((ROOT / "workloads").glob("*/program.cu")):
        programs = [seed] + sorted((ROOT / "tests/solutions" / seed.parent.name).glob("*.cu"))
        for program in programs:
            yield (f"{seed.parent.name}/{'seed' if program is seed else program.stem}",
                   ["judge", "--own", "--check", "--fidelity", "check", str(seed.parent), str(program)])


def main():
    cuco, wanted = sys.argv[1], sys.argv[2:]
    bad = total = 0
    for name, command in [*runtime_programs(), *conformance_programs(), *nccl_programs(), *judged_programs()]:
        if wanted and not any(word in name for word in wanted):
            continue
        total += 1
        begin = time.monotonic()
        result = subprocess.run([cuco, *command], capture_output=True, text=True, timeout=1800,
                                cwd=ROOT / "tests/e2e/cudart/programs")
        seconds = time.monotonic() - begin
        right = result.returncode == 0
        print(f"{name:<44} {'no finding' if right else f'exit {result.returncode}   <-- wrong':<24} {seconds:6.1f} s",
              flush=True)
        if not right:
            bad += 1
            print("\n".join((result.stdout[-500:] + result.stderr[-6000:]).splitlines()))
    print(f"{total - bad} of {total} without a finding")
    return 1 if bad or not total else 0


sys.exit(main())
