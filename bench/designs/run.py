#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The order of a workload's designs on its full shapes: by two scale models, and as measured.

    run.py CUCO [--results FILE] [WORKLOAD...]

Judges seeds (program.cu, production.cu, naive.cu), hand-written solutions and the expert's variants
(variants.py) at `scaled`, and prints a table of their predicted times: on the larger scale model, and on
the smaller one. The order should not depend on the model. Where bench/results/seeds-h200.txt has a
program's time on one H200 (bench/seeds/run.sh), it is there, too, with Kendall's tau between both orders
for workloads of one rank, which should be 0.7 at least. Judgements are appended to FILE; what is in it is
not judged again.
"""
import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import variants

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORDER = ["gemm_allgather", "kv_transfer", "flash_attention_cp", "moe_dispatch_combine", "silu_and_mul",
         "fused_add_rmsnorm", "merge_attn_states"]


LEAST_TAU = 0.7


def designs(workload, scratch):
    """(name, file) of each program of it, the seed first."""
    folder = ROOT / "workloads" / workload
    for stem, name in (("program", "seed"), ("naive", "naive"), ("production", "production")):
        if (folder / f"{stem}.cu").exists():
            yield name, folder / f"{stem}.cu"
    for path in sorted((ROOT / "tests/solutions" / workload).glob("*.cu")):
        yield path.stem, path
    for name, text in variants.variants(workload):
        path = pathlib.Path(scratch) / f"{workload}.{name}.cu"
        path.write_text(text)
        yield name, path


def judged(cuco, workload, path):
    command = [cuco, "--json", "judge", ROOT / "workloads" / workload, path, "--fidelity", "scaled", "--own"]
    run = subprocess.run(command, capture_output=True, text=True)
    try:
        return json.loads(run.stdout)
    except ValueError:
        return {"verdict": "none", "summary": run.stderr.strip()[-300:]}


def measured_times():
    """Microseconds on one H200, by (workload, program, parameters)."""
    times = {}
    for line in (ROOT / "bench/results/seeds-h200.txt").read_text().splitlines():
        words = line.split()
        if "median" in words:
            params = itertools.takewhile(lambda word: word.lstrip("-").isdigit(), words[2:])
            times[words[0], words[1], tuple(map(int, params))] = float(words[words.index("median") + 1])
    return times


def kendall(pairs):
    """Kendall's tau-b of (predicted, measured). Times within 2 % of each other are a tie."""
    agree = disagree = ties_p = ties_m = 0
    for (p, m), (q, n) in itertools.combinations(pairs, 2):
        sign = [0 if abs(a - b) <= 0.02 * max(a, b) else 1 if a < b else -1 for a, b in ((p, q), (m, n))]
        ties_p += sign[0] == 0 and sign[1] != 0
        ties_m += sign[1] == 0 and sign[0] != 0
        agree += sign[0] * sign[1] > 0
        disagree += sign[0] * sign[1] < 0
    all_p, all_m = agree + disagree + ties_m, agree + disagree + ties_p
    return (agree - disagree) / (all_p * all_m) ** 0.5 if all_p and all_m else 1.0


def us(seconds):
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


def show(workload, results, measured):
    """A row for each full shape and design; returns whether both models have the same winner, and one GPU
    the same order."""
    described = tomllib.loads((ROOT / "workloads" / workload / "workload.toml").read_text())
    params = {shape["name"]: tuple(shape["params"][p] for p in described["params"])
              for shape in described["shape"] if "full" in shape["use"]}
    same = True
    for shape in params:
        times = {}
        for name, outcome in results.items():
            for time in outcome.get("shapes", ()):
                if time["shape"] == shape:
                    model = time["scale_model"]
                    times[name] = time["seconds"], model["smaller_seconds"] or time["seconds"], model["factor"]
        if not times:
            continue
        by = [min(times, key=lambda name, i=i: times[name][i]) for i in (0, 1)]
        # Equal within 2 %: then either may win.
        same &= times[by[1]][0] <= 1.02 * times[by[0]][0]
        pairs = []
        for n, (name, (large, small, factor)) in enumerate(times.items()):
            file = {"seed": "program"}.get(name, name)
            real = measured.get((workload, file, params[shape])) if described["ranks"] == 1 else None
            if real:
                pairs.append((large, real * 1e-6))
            best = " (best)" if name == by[0] else ""
            print(f"| {workload if n == 0 else ''} | {shape if n == 0 else ''} | {name}{best} | {factor:.4g} "
                  f"| {us(large)} | {us(small)} | {times['seed'][0] / large:.2f}x | {f'{real:.4g} us' if real else ''} |")
        if len(pairs) > 1:
            tau = kendall(pairs)
            same &= tau >= LEAST_TAU
            print(f"<!-- {workload}, {shape}: Kendall's tau {tau:.2f} of {len(pairs)} -->")
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cuco")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--results", type=pathlib.Path)
    options = parser.parse_intermixed_args()
    known = {}
    if options.results and options.results.exists():
        known = {(r["workload"], r["design"]): r for r in map(json.loads, options.results.read_text().splitlines())}
    measured = measured_times()
    workloads = options.workloads or ORDER
    everything = {workload: {} for workload in workloads}
    scratch = tempfile.TemporaryDirectory()
    for workload in workloads:
        for name, path in designs(workload, scratch.name):
            if (workload, name) not in known:
                print(f"{workload} {name} …", file=sys.stderr, flush=True)
                known[workload, name] = judged(options.cuco, workload, path) | {"workload": workload, "design": name}
                if options.results:
                    with options.results.open("a") as file:
                        file.write(json.dumps(known[workload, name]) + "\n")
            everything[workload][name] = known[workload, name]
    print("| workload | shape | design | k | predicted, 1/k | 1/2k | against the seed | measured |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |")
    right = True
    for workload, results in everything.items():
        for name, outcome in results.items():
            if outcome["verdict"] != "scored":
                print(f"{workload} {name}: {outcome['verdict']}: {outcome.get('summary')}", file=sys.stderr)
                right = False
        right &= show(workload, results, measured)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
