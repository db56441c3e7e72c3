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
import shutil
import sqlite3
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


# A run as the first version stored it: sources in the events, no other tables.
OLD_RUN = """
CREATE TABLE events(sequence INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
INSERT INTO events VALUES(1, 5, 'run-started', '{"workload":"workloads/old_one","seed":3,"target":"virtual cluster"}');
INSERT INTO events VALUES(2, 6, 'proposed', '{"candidate":{"number":0,"source":{"files":[{"path":"program.cu",
  "text":"int old;"}]},"directive":"host · host-ordered · global barrier · block · whole","lineage":{},"code_hash":"x"}}');
INSERT INTO events VALUES(3, 7, 'evaluated', '{"candidate":0,"fidelity":"standard","outcome":{"verdict":"scored","seconds":0.5}}');
PRAGMA user_version=1;
"""


def upgrade_keeps_runs(cuco, here, install):
    """Runs of the first schema and of the present one are read before and after an upgrade, and read the same."""
    (here / "runs/0001").mkdir(parents=True)
    database = sqlite3.connect(here / "runs/0001/events.db")
    database.executescript(OLD_RUN)
    database.close()
    cuco("demo")
    asked = (("runs",), ("show", "1"), ("show", "1", "0", "--code"), ("show", "demo"), ("explain", "demo"))
    before = [cuco(*words) for words in asked]
    expect("old_one" in before[0], f"the old run is listed: {before[0]}")
    expect("gemm_allgather" in before[3], f"the present run is shown: {before[3]}")
    expect(before[2].strip() == "int old;", "the old run's source is there")
    install()
    expect([cuco(*words) for words in asked] == before, "an upgrade changes nothing of what runs show")
    expect("whole" in cuco("db", "verify", "demo"), "the present run is whole")


def main():
    cmake, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        prefix = work / "second"

        def install():
            run(cmake, "--install", build, "--prefix", "/opt/first", env=os.environ | {"DESTDIR": str(work / "stage")})
            shutil.rmtree(prefix, ignore_errors=True)  # as a package's upgrade replaces its files
            (work / "stage/opt/first").rename(prefix)

        install()
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
        expect("__cuco_is" in (prefix / "share/fish/vendor_completions.d/cuco.fish").read_text(), "fish completes")

        doctor = json.loads(cuco("doctor", "--json"))
        expect(doctor["default_target"] == "virtual", f"doctor finds the virtual cluster: {doctor}")
        workloads = cuco("completion", "values", "workload").split()
        expect("silu_and_mul" in workloads and not any("/" in name for name in workloads), "shipped workloads have names")
        expect("PASS" in cuco("run", HERE / "add.cu"), "a program runs")
        seed = prefix / "share/cuco/workloads/silu_and_mul/program.cu"
        verdict = cuco("judge", "silu_and_mul", seed, "--fidelity", "quick", "--small")
        expect("predicted" in verdict and "calibrated on" in verdict, f"a shipped workload is judged: {verdict}")
        expect("all-gather" in cuco("analyze", "gemm_allgather", "--no-trace"), "cuco-analyse is found")
        upgrade_keeps_runs(cuco, work / "here", install)
        leftovers = [path for path in work.rglob("*") if path.name == "first"]
        expect(not leftovers, "nothing is left where it was installed")
    print("an installation works where it was moved to")


main()
