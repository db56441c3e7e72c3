#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The expert's variants of the single-GPU seeds, as files: other block sizes (src/expert/host_designs.cc).

    variants.py FOLDER       writes FOLDER/WORKLOAD/blocks_N.cu
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKLOADS = ("silu_and_mul", "fused_add_rmsnorm", "merge_attn_states")
SIZES = (512, 128, 1024, 64)
# The judge rejects these: the seed's reduction has room for 256 threads.
WRONG = {("fused_add_rmsnorm", 512), ("fused_add_rmsnorm", 1024)}


def variants(workload):
    """(name, text) of each that differs from the seed and is right."""
    if workload not in WORKLOADS:
        return
    seed = (ROOT / "workloads" / workload / "program.cu").read_text()
    for size in SIZES:
        text = re.sub(r"(<<<[^,<>]+,\s*)\d+(?=,)", rf"\g<1>{size}", seed)
        if text != seed and (workload, size) not in WRONG:
            yield f"blocks_{size}", text


def write(folder):
    """(workload, name, path) of each, written below the folder."""
    for workload in WORKLOADS:
        for name, text in variants(workload):
            path = pathlib.Path(folder) / workload / f"{name}.cu"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            yield workload, name, path


if __name__ == "__main__":
    for _, _, path in write(sys.argv[1]):
        print(path)
