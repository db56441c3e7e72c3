# SPDX-License-Identifier: Apache-2.0
"""Builds programs of other projects, runs each with `cuco run`, and makes a Markdown table of what
happened. tools/samples and tools/nccl-tests say which programs, and how each is built.
"""
import argparse
import dataclasses
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXIT_WAIVED = 2  # NVIDIA's samples: "not on this machine"


@dataclasses.dataclass
class Program:
    name: str
    build: list[str]         # the command; its last word is the program it makes
    folder: pathlib.Path     # where it is built and run
    ranks: int = 1
    arguments: tuple = ()


@dataclasses.dataclass
class Outcome:
    kind: str                # a row of the table
    note: str = ""


def nvcc() -> str:
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    found = shutil.which("nvcc") or next((f"{h}/bin/nvcc" for h in homes if h and os.path.exists(f"{h}/bin/nvcc")), None)
    if found is None:
        raise SystemExit("nvcc not found: put it on PATH or set CUDA_HOME")
    return found


def build_flags() -> list[str]:
    """What cuco needs of a program: a shared runtime, and PTX for the GPU of the default topology."""
    return ["-cudart", "shared", "-gencode", "arch=compute_90,code=compute_90"]


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:120] if lines else ""


def finished(command: list[str], folder: pathlib.Path, seconds: float) -> tuple[int | None, str, float]:
    """Status (None: stopped after `seconds`), output and errors together, and the seconds it took."""
    start = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        text, _ = process.communicate(timeout=seconds)
        return process.returncode, text, time.monotonic() - start
    except subprocess.TimeoutExpired:
        process.terminate()  # cuco ends what it started
        text, _ = process.communicate()
        return None, text, time.monotonic() - start


def judged(program: Program, cuco: str, seconds: float) -> Outcome:
    status, text, _ = finished(program.build, program.folder, 600)
    if status != 0:
        error = next((line for line in text.splitlines() if "error" in line), last_line(text))
        return Outcome("not built", error.strip()[:120])
    run = [cuco, "run", "--ranks", str(program.ranks), program.build[-1]]
    status, text, took = finished(run + (["--", *program.arguments] if program.arguments else []), program.folder, seconds)
    refused = re.search(r"(\w+) is not supported", text)
    if status is None:
        return Outcome("unfinished", f"stopped after {seconds:.0f} s")
    if status == 0 and not re.search(r"\bFAILED\b", text):
        return Outcome("passes", f"{took:.0f} s" if took >= 10 else "")
    if refused:
        return Outcome("refused, by name", refused[1])
    if status == EXIT_WAIVED:
        return Outcome("waives itself", last_line(text))
    return Outcome("fails", f"status {status}: {last_line(text)}")


KINDS = ("passes", "unfinished", "refused, by name", "waives itself", "not built", "fails")


def table(outcomes: dict[str, Outcome]) -> str:
    rows = ["| outcome | number | programs |", "| --- | --- | --- |"]
    for kind in KINDS:
        names = [name + (f" ({o.note})" if o.note else "") for name, o in sorted(outcomes.items()) if o.kind == kind]
        if names:
            rows.append(f"| {kind} | {len(names)} | {', '.join(names).replace('|', '/')} |")
    return "\n".join(rows) + "\n"


def update(page: pathlib.Path, tool: str, source: str, text: str) -> None:
    """Puts the table in the place of the last one that the tool made, or at the end of the page."""
    begin, end = f"<!-- made by {tool} -->", f"<!-- end of {tool} -->"
    made = f"{begin}\nMade by `{tool}` on {datetime.date.today()} from {source}:\n\n{text}{end}"
    old = page.read_text()
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
    page.write_text(pattern.sub(lambda _: made, old) if pattern.search(old) else f"{old.rstrip()}\n\n{made}\n")


def version_of(checkout: pathlib.Path) -> str:
    run = subprocess.run(["git", "-C", checkout, "describe", "--always", "--tags"], capture_output=True, text=True, check=False)
    return run.stdout.strip() or "a folder without git"


def main(tool: str, what: str, find, page: str) -> int:
    """`find(checkout, out, options)` gives the programs. Prints the table; --update writes it into `page`."""
    parser = argparse.ArgumentParser(prog=tool, description=f"Builds and runs {what} with cuco run; prints a table.")
    parser.add_argument("checkout", type=pathlib.Path, help=f"a checkout of {what}")
    parser.add_argument("--only", default="", metavar="REGEX", help="programs whose name matches")
    parser.add_argument("--seconds", type=float, default=120, help="time limit of each program (default 120)")
    parser.add_argument("--ranks", type=int, default=4, help="GPUs of programs that want several (default 4)")
    parser.add_argument("--cuco", default=str(ROOT / "cuco"), help="the cuco to run (default: this repository's)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / tool.split("/")[-1],
                        help="where programs are built")
    parser.add_argument("--update", action="store_true", help=f"also write the table into {page}")
    options = parser.parse_args()
    options.build.mkdir(parents=True, exist_ok=True)
    programs = [p for p in find(options.checkout.resolve(), options.build.resolve(), options) if re.search(options.only, p.name)]
    if not programs:
        raise SystemExit(f"{tool}: no programs of {what} in {options.checkout}")
    outcomes = {}
    for program in programs:
        outcomes[program.name] = judged(program, options.cuco, options.seconds)
        print(f"{program.name:<40} {outcomes[program.name].kind} {outcomes[program.name].note}", flush=True)
    print("\n" + table(outcomes), end="")
    if options.update:
        update(ROOT / page, tool, f"{what} {version_of(options.checkout)}", table(outcomes))
    return 1 if any(o.kind == "fails" for o in outcomes.values()) else 0
