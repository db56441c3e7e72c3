#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs to a prefix, moves it, and uses it from there.

    run.py CMAKE BUILD

Every program, library and data file must be found relative to the moved `cuco`: the name of the prefix
that it was installed to is gone, and the shipped workload is named without a path.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run(*words, **kwargs):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **kwargs)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(holds, what):
    if not holds:
        sys.exit(f"not so: {what}")


def main():
    cmake, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        run(cmake, "--install", build, "--prefix", "/opt/first", env=os.environ | {"DESTDIR": str(work / "stage")})
        prefix = work / "second"
        (work / "stage/opt/first").rename(prefix)
        (work / "here").mkdir()
        environment = {"PATH": f"{prefix}/bin:{os.environ['PATH']}", "HOME": str(work), "LC_ALL": "C.UTF-8"}

        def cuco(*words):
            return run(prefix / "bin/cuco", *words, env=environment, cwd=work / "here")

        about = json.loads(cuco("--version", "--json"))
        expect({"version", "commit", "compiler", "CUDA", "NCCL headers"} <= set(about), "--version --json tells of the build")
        expect(about["commit"] in cuco("--version", "--verbose"), "--version --verbose names the commit")

        commands = {line.split()[0] for line in cuco("--help").splitlines() if line.startswith("  ") and line[2] != " "}
        pages = {page.stem for page in (prefix / "share/man/man1").iterdir()}
        expect(pages == {"cuco"} | {f"cuco-{name}" for name in commands}, "every command has a page of the manual")
        expect("_cuco" in (prefix / "share/bash-completion/completions/cuco").read_text(), "bash completes")
        expect((prefix / "share/zsh/vendor-completions/_cuco").read_text().startswith("#compdef"), "zsh completes")

        doctor = json.loads(cuco("doctor", "--json"))
        expect(doctor["default_target"] == "virtual", f"doctor finds the virtual cluster: {doctor}")
        workloads = cuco("completion", "values", "workload").split()
        expect("silu_and_mul" in workloads and not any("/" in name for name in workloads), "shipped workloads have names")
        expect("PASS" in cuco("run", HERE / "add.cu"), "a program runs")
        seed = prefix / "share/cuco/workloads/silu_and_mul/program.cu"
        verdict = cuco("judge", "silu_and_mul", seed, "--fidelity", "quick", "--small")
        expect("predicted" in verdict and "calibrated on" in verdict, f"a shipped workload is judged: {verdict}")
        expect("all-gather" in cuco("analyze", "gemm_allgather", "--no-trace"), "cuco-analyse is found")
        leftovers = [path for path in work.rglob("*") if path.name == "first"]
        expect(not leftovers, "nothing is left where it was installed")
    print("an installation works where it was moved to")


main()
