#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The four distributed workloads on loopback: seed, expert's and hand-written designs, measured.

    designs.py CUCO [--on loopback] [--use full] [--network none,NAME…] [--predicted FILE] [--out FILE]
               [--seconds 400] [--more FOLDER] [--only DESIGN,…] [--without DESIGN,…]
               [--work FOLDER] [--build-only] [--patience 10] [WORKLOAD…]

Builds each design (with --more those of FOLDER/WORKLOAD/NAME.cu, too) and runs it with as many ranks
as its workload has, once for each network ("none": at the GPU's own speed). Designs whose traffic was
not paced alike, or whose transfers missed the modelled time by half, are not compared: the table says so.
With --predicted (what bench/designs/run.py --results has written) the order of times is compared with
the predicted one by Kendall's tau. Nothing new is started once --seconds have passed; what is missing
then is named.
"""
import argparse
import concurrent.futures
import datetime
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/designs"))
import run as predicted_designs  # noqa: E402

WORKLOADS = ["gemm_allgather", "kv_transfer", "flash_attention_cp", "moe_dispatch_combine"]
MOST_PACING_ERROR = 0.5
LETTERS = {"bf16": "b", "fp32": "f", "int32": "i"}


def choose(formula, values):
    """'a ? b : c' by its condition, as text."""
    match = re.fullmatch(r"\s*(.+?)\s*\?\s*(.+?)\s*:\s*(.+?)\s*", formula)
    if not match:
        return formula.strip()
    condition, yes, no = match.groups()
    return choose(yes if number(condition, values) else no, values)


def number(formula, values):
    inner = re.search(r"\(([^()]*\?[^()]*)\)", formula)
    while inner:
        formula = formula.replace(inner.group(0), str(number(choose(inner.group(1), values), values)))
        inner = re.search(r"\(([^()]*\?[^()]*)\)", formula)
    if not re.fullmatch(r"[\w\s+*/()<>=!-]+", formula):
        sys.exit(f"designs: no formula: {formula}")
    return int(eval(choose(formula, values).replace("/", "//"), {"__builtins__": {}}, values))


def words_of(workload, shape):
    """What time_design wants to know of a shape."""
    values = dict(shape["params"], ranks=workload["ranks"])
    buffers = {kind: workload.get(kind, []) for kind in ("input", "output")}
    types = "".join(LETTERS[choose(b["type"], values)] for kind in buffers for b in buffers[kind])
    elements = [[str(number(str(b["elements"]), values)) for b in buffers[kind]] for kind in buffers]
    params = [str(shape["params"][name]) for name in workload["params"]]
    return [types, *params, "--", *elements[0], "--", *elements[1]]


def build(work, name, command):
    target = work / name
    if target.exists():
        return target
    done = subprocess.run([*map(str, command), "-o", str(target)], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{name} does not build:\n{done.stderr[-2000:]}", file=sys.stderr)
        return None
    return target


def build_all(arguments, work):
    """The harness, and by workload its oracle and its designs; None for what does not build."""
    include = f"-I{ROOT / 'include'}"
    nvcc = ["nvcc", "-std=c++20", "-O3", "-cudart", "shared", include, "-gencode",
            f"arch=compute_{arguments.arch},code=[compute_{arguments.arch},sm_{arguments.arch}]"]
    traced = ["-include", ROOT / "bench/loopback/traced.h"]
    # Ranks are threads that each load a copy of a design: "unique" symbols would be one for all copies.
    commands = {"time_design": [*nvcc, ROOT / "bench/loopback/time_design.cc", "-ldl", "-lnccl"]}
    for name in arguments.workloads:
        commands[f"{name}.oracle.so"] = ["g++", "-std=c++20", "-O2", include, "-shared", "-fPIC",
                                         ROOT / "workloads" / name / "oracle.cpp"]
        found = list(predicted_designs.designs(name, work))
        if arguments.more:
            found += [(path.stem, path) for path in sorted((arguments.more / name).glob("*.cu"))]
        for design, path in found:
            wanted = not arguments.only or design in arguments.only.split(",")
            if wanted and design not in arguments.without.split(","):
                commands[f"{name}.{design}.so"] = [*nvcc, "-shared", "-Xcompiler", "-fPIC,-fno-gnu-unique",
                                                   "-DNCCL_GIN_GDAKI_ENABLE=0", *traced, path, "-lnccl"]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return dict(zip(commands, pool.map(lambda each: build(work, *each), commands.items())))


def measure(arguments, network, ranks, program, words):
    """One run: its own figures, and what cuco says of the traffic."""
    command = [arguments.cuco, "--json", "--set", f"run.patience={arguments.patience}s", "run", "--on", arguments.on]
    if network != "none":
        command += ["--topology", network]
    command += ["--ranks", ranks, program, "--", *words]
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60 + 4 * arguments.patience)
    except subprocess.TimeoutExpired as stopped:
        return {"failed": "does not end\n" + str(stopped.stderr)[-3000:]}
    # On real GPUs the program's own output goes to standard error, beside what cuco says.
    own = re.search(r'^\{"median_us".*\}$', done.stdout + done.stderr, re.M)
    if done.returncode != 0 or not own:
        return {"failed": f"exit {done.returncode}: " + done.stderr.strip()[-3000:]}
    row = json.loads(own.group(0))
    report = next((json.loads(line) for line in done.stdout.splitlines() if '"pacing"' in line), {})
    row |= {key: report[key] for key in ("pacing", "put_bytes", "collective_bytes", "pacing_error") if key in report}
    return row


def starts(cuco):
    """Does each way of starting a program on real GPUs work here? Our own test programs, which say ok."""
    tests = ROOT / "tests/e2e/nccl"
    ways = [("--on", "gpu", "--ranks", "1", tests / "mpi.cu"),
            ("--on", "cluster", "--ranks", "1", tests / "mpi.cu"),
            ("--on", "loopback", "--ranks", "4", tests / "collectives.cu"),
            ("--on", "loopback", "--ranks", "4", "--topology", "roce2x4", tests / "gin.cu"),
            ("--on", "loopback", "--ranks", "2", "--sanitize", "memcheck", tests / "gin.cu")]
    for way in ways:
        begin = time.monotonic()
        command = [cuco, "run", "--nvcc", "-DNCCL_GIN_GDAKI_ENABLE=0", *map(str, way)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            lines = (done.stdout + done.stderr).strip().splitlines()
            found = {"exit": done.returncode, "ok": any(": ok" in line for line in lines), "said": lines[-5:]}
        except subprocess.TimeoutExpired:
            found = {"exit": None, "ok": False, "said": ["no end within 60 s"]}
        row = {"command": " ".join(["run", *map(str, way[:-1]), way[-1].name])} | found
        row["seconds"] = round(time.monotonic() - begin, 1)
        print("ok  " if row["ok"] else "FAIL", row["command"], f"({row['seconds']} s)", *row["said"] * (not row["ok"]),
              sep="  ", flush=True)
        yield row


def predicted_times(file):
    """Seconds by (workload, design, shape)."""
    times = {}
    for line in file.read_text().splitlines():
        row = json.loads(line)
        for shape in row.get("shapes", []):
            times[row.get("workload"), row.get("design", row.get("name")), shape.get("shape")] = shape.get("seconds")
    return times


def compare(rows, predicted):
    """Of one workload, shape and network: each design against the seed, if they were paced alike."""
    seed = next((row for row in rows if row["design"] == "seed" and "median_us" in row), None)
    lines = []
    for row in rows:
        text = f"  {row['design']:<26}"
        if "failed" in row:
            lines.append(text + row["failed"].splitlines()[-1])
            continue
        text += f"{row['median_us']:>10.1f} us"
        error = row.get("pacing_error", {}).get("mean", 0)
        if error > MOST_PACING_ERROR:
            text += f"  not compared: its transfers missed the modelled time by {error:.0%} on average"
        elif seed and row.get("pacing") == seed.get("pacing"):
            row["speedup"] = seed["median_us"] / row["median_us"]
            text += f"  {row['speedup']:.3f}x of the seed"
        elif seed:
            text += f"  not compared: {row.get('pacing')}, the seed is {seed.get('pacing')}"
        lines.append(text)
    pairs = [(predicted[key], row["median_us"]) for row in rows if "speedup" in row
             for key in [(row["workload"], row["design"], row["shape"])] if predicted.get(key)]
    if len(pairs) > 1:
        lines.append(f"  order predicted and measured: tau {predicted_designs.kendall(pairs):.2f} of {len(pairs)}")
    return lines


def conditions():
    gpu = shutil.which("nvidia-smi") and subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm", "--format=csv,noheader"],
        capture_output=True, text=True).stdout.strip()
    return {"date": datetime.date.today().isoformat(), "gpu": gpu or None,
            "time": "from a common start to the end of the slowest rank's stream, launch included, caches warm"}


def save(arguments, ways, rows, missing):
    record = conditions() | {"on": arguments.on, "starts": ways, "rows": rows, "missing": missing}
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cuco")
    parser.add_argument("--on", default="loopback")
    parser.add_argument("--use", default="full")
    parser.add_argument("--network", default="none")
    parser.add_argument("--predicted", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--iterations", default="11")
    parser.add_argument("--patience", type=int, default=10, help="seconds without progress that end a run")
    parser.add_argument("--arch", default="90")
    parser.add_argument("--more", type=pathlib.Path, help="folder of further designs")
    parser.add_argument("--without", default="", help="designs to leave out")
    parser.add_argument("--only", default="", help="designs to measure, of those that there are")
    parser.add_argument("--work", type=pathlib.Path, help="folder for what is built")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--starts", action="store_true", help="first try each way of starting a program")
    parser.add_argument("workloads", nargs="*")
    arguments = parser.parse_intermixed_args()
    arguments.workloads = arguments.workloads or WORKLOADS
    begin = time.monotonic()
    predicted = predicted_times(arguments.predicted) if arguments.predicted else {}
    rows, missing = [], []
    ways = list(starts(arguments.cuco)) if arguments.starts else []
    with tempfile.TemporaryDirectory() as scratch:
        work = arguments.work or pathlib.Path(scratch)
        work.mkdir(exist_ok=True)
        programs = build_all(arguments, work)
        harness = programs["time_design"]
        if harness is None or arguments.build_only:
            sys.exit(1 if None in programs.values() else 0)
        for name in arguments.workloads:
            workload = tomllib.loads((ROOT / "workloads" / name / "workload.toml").read_text())
            oracle = programs[f"{name}.oracle.so"]
            built = {file.removeprefix(name + ".").removesuffix(".so"): program for file, program in programs.items()
                     if file.startswith(name + ".") and file != f"{name}.oracle.so"}
            for shape in (s for s in workload["shape"] if arguments.use in s["use"]):
                for network in arguments.network.split(","):
                    group = []
                    for design, program in built.items():
                        if program is None:
                            continue
                        if time.monotonic() - begin > arguments.seconds:
                            missing.append([name, shape["name"], network, design])
                            continue
                        words = [program, oracle, workload["ranks"], arguments.iterations, *words_of(workload, shape)]
                        row = measure(arguments, network, workload["ranks"], harness, words)
                        said = row.get("median_us") or row["failed"][:700]
                        print(f"    {time.monotonic() - begin:.0f} s: {design}: {said}", file=sys.stderr, flush=True)
                        group.append({"workload": name, "shape": shape["name"], "network": network, "design": design} | row)
                    print(f"{name}, {shape['name']}, network {network}:", *compare(group, predicted), sep="\n", flush=True)
                    rows += group
                    if arguments.out:
                        save(arguments, ways, rows, missing)
    for each in missing:
        print("not measured, out of time:", *each)
    sys.exit(1 if any("failed" in row for row in rows) else 0)


if __name__ == "__main__":
    main()
