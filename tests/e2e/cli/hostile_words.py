#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Words that nobody should give: each argument and option that `cuco COMMAND --help` lists gets a missing
file, a folder, a pipe, a device, a number that is none, and so on. Each is answered soon with one sentence
and the exit code for wrong usage or a lacking machine; no crash, no process and no file stays.

    hostile_words.py CUCO [--show] [COMMAND…]
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

SECONDS = 20
NUMBERS = ["0", "-1", "1e99", "nan", "inf", "", "99999999999999999999", "1.5", "0x10", " 3", "3 ", "3;", "٣", "\x1b[31m3"]
TIMES = ["0s", "-5m", "1e99h", "nan", "", "5", "5 m", "99999999999999999999h", "1h1h", "s", "nans", "infm"]
# Words that are right, and quick: what stands there while another word is wrong.
RIGHT = {"PROGRAM": "p.cu", "PROGRAM…": "p.cu", "WORKLOAD": "silu_and_mul", "WORKLOAD…": "silu_and_mul", "CANDIDATE": "p.cu",
         "RUN": "demo", "RUN…": "demo", "FOLDER": "new", "WHAT": "", "SHELL": "bash", "ROLE": "propose", "A": "1", "B": "2"}
WHAT = {"llm": "test", "knowledge": "merge", "db": "verify"}
CRASH = re.compile(r"terminate called|what\(\)|Assertion|CUCO_ASSERT|std::|filesystem error|bad_alloc|Segmentation|Sanitizer|src/\w+/.*\.(cc|h):\d")


def fill(folder):
    """A folder with things that are no program, no workload, no recording and no place for a result."""
    (folder / "p.cu").write_text("int main() {}\n")
    (folder / "dir").mkdir()
    (folder / "dir/inner.txt").write_text("x")
    (folder / "pipe").mkdir()
    for name in ("workload.toml", "program.cu", "events.db"):
        os.mkfifo(folder / "pipe" / name)
    (folder / "empty.cu").write_text("")
    (folder / "binary.cu").write_bytes(bytes(range(256)) * 64)
    (folder / "latin.cu").write_bytes(b"int main() { return '\xff\xfe'; }\n")
    odd = ["a b'\"$(touch owned)`touch owned`;touch owned&.cu", "new\nline.cu", "\x1b[31mred.cu", "-dash.cu"]
    for name in odd + [b"\xff\xfe.cu"]:
        with open(os.path.join(os.fsencode(folder), os.fsencode(name)), "w") as out:
            out.write("int main( {")
    os.mkfifo(folder / "fifo.cu")
    (folder / "loop.cu").symlink_to("loop.cu")
    (folder / "broken.cu").symlink_to("nowhere")
    with (folder / "huge.cu").open("w") as huge:
        huge.truncate(8 << 30)
    return ["nowhere", "nowhere/nothing.cu", "", ".", "/", "dir", "pipe", "empty.cu", "binary.cu", "latin.cu", odd[0], odd[1], odd[2],
            "./-dash.cu", "fifo.cu", "/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "loop.cu", "broken.cu",
            "huge.cu", os.fsdecode(b"\xff\xfe.cu"), os.fsdecode(b"\xff\xfe"), "empty.cu/x", "x" * 5000, "x" * 300 + ".cu"]


class Help:
    """Arguments and options of a command, as its help lists them."""

    def __init__(self, text):
        usage = re.search(r"^usage: cuco \S+(.*)$", text, re.M)[1]
        self.positionals = [word.strip("[]") for word in re.findall(r"\[?[A-Z]+…?\]?", usage.replace("[options]", "").split("[-- ")[0])]
        self.needed = [word for word in re.findall(r"\[?[A-Z]+…?\]?", usage.replace("[options]", "").split("[-- ")[0]) if not word.startswith("[")]
        self.options = re.findall(r"^  (?:-\w, )?(--[\w-]+) ([A-Z]+)\b", text, re.M)
        self.flags = re.findall(r"^  (?:-\w, )?(--[\w-]+)  ", text, re.M)


def snapshot(folder):
    return {name for name in os.listdir(os.fsencode(folder)) if name not in (b".cache", b".config")}


class Hunt:
    def __init__(self, cuco, folder, show):
        self.cuco, self.folder, self.show = cuco, folder, show
        self.paths = fill(folder)
        self.failures, self.count = [], 0
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8",
                            "XDG_CACHE_HOME": str(folder / ".cache")}
        for name in ("CUDA_HOME", "CUDA_PATH"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def run(self, words, may_work=False, **changes):
        self.count += 1
        before = snapshot(self.folder)
        begun = time.monotonic()
        process = subprocess.Popen([self.cuco, *[os.fsencode(word) for word in words]], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**self.environment, **changes}, start_new_session=True)
        slow = False
        heavy = words[0] in ("optimize", "evolve", "tune") and may_work
        try:
            out, error = process.communicate(timeout=4 if heavy else SECONDS)
        except subprocess.TimeoutExpired:
            slow = True
            process.send_signal(signal.SIGINT)
            try:
                out, error = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, error = process.communicate()
        out, error = out.decode(errors="replace"), error.decode(errors="replace")
        if slow and heavy and "target" in error:
            print("accepted:", "cuco", *words, flush=True)
            subprocess.run(["rm", "-rf", self.folder / "runs"])
            return
        self.judge(words, process.returncode, out, error, slow, snapshot(self.folder) - before, may_work, time.monotonic() - begun)

    def judge(self, words, code, out, error, slow, new, may_work, seconds):
        problems = []
        said = [line for line in error.splitlines() if line.startswith("cuco: ")]
        if slow:
            problems.append(f"no answer within {SECONDS} s")
        elif code < 0:
            problems.append(f"signal {-code}")
        elif code not in (0, 1, 2, 3):
            problems.append(f"exit {code}")
        if code in (2, 3) and len(said) != 1:
            problems.append(f"{len(said)} sentences")
        if code == 0 and not may_work:
            problems.append("accepted")
        if code == 1 and not may_work and words[0] != "judge":  # a verdict, too, is a no
            problems.append("exit 1")
        if CRASH.search(out + error):
            problems.append("looks like a crash")
        if "\x1b" in out + error:
            problems.append("passes an escape on")
        if any(len(line) > 1000 for line in said):
            problems.append("a sentence of over 1000 letters")
        if any(line.rstrip().endswith(":") and "build" not in line for line in said):
            problems.append("names nothing")
        if new and code != 0:
            problems.append(f"leaves {new}")
        if os.path.exists(self.folder / "owned"):
            problems.append("ran a name")
        for name in new:
            path = os.path.join(os.fsencode(self.folder), name)
            subprocess.run(["rm", "-rf", "--", path])
        shown = " ".join(repr(word if len(word) < 60 else word[:20] + "…") if not re.fullmatch(r"[\w./:=-]+", word) else word for word in words)
        if problems or self.show:
            text = f"cuco {shown}\n    exit {code}, {seconds:.1f} s: {'; '.join(problems) or 'fine'}\n"
            text += "".join(f"    | {line[:300]}\n" for line in (error or out).splitlines()[-6:])
            print(text.encode(errors="replace").decode(), flush=True)
        if problems:
            self.failures.append(shown)

    def values(self, metavar):
        if metavar in ("N", "K", "S", "A", "B"):
            return NUMBERS
        if metavar in ("TIME", "D"):
            return TIMES
        return self.paths

    def command(self, name):
        text = subprocess.run([self.cuco, name, "--help"], capture_output=True, text=True).stdout
        words = Help(text)
        right = [WHAT.get(name, "") if word == "WHAT" else RIGHT[word] for word in words.needed]
        if words.needed:
            self.run([name], may_work=False)
        self.run([name, *(word or "x" for word in right), *["extra"] * 3], may_work=name in ("run", "serve", "replay", "optimize", "evolve"))
        self.run([name, *right, "--no-such-option"], may_work=name == "run")  # it may be the program's
        for at in range(len(words.positionals)):
            for value in self.paths + (NUMBERS if name not in ("run",) else []):
                given = list(right) + ["1"] * (at + 1 - len(right))
                given[at] = value
                self.run([name, *given] if not value.startswith("-") else [name, "--", *given], may_work=name in ("run", "knowledge", "completion", "init"))
        for option, metavar in words.options:
            self.run([name, *right, option])
            for value in self.values(metavar):
                self.run([name, *right, f"{option}={value}"], may_work=True)


def main():
    arguments = sys.argv[1:]
    show = "--show" in arguments
    words = [word for word in arguments if word != "--show"]
    cuco = os.path.abspath(words[0])
    listed = subprocess.run([cuco, "--help"], capture_output=True, text=True).stdout
    commands = words[1:] or re.findall(r"^  ([a-z]+)  ", listed, re.M)
    tries = wrong = 0
    for name in commands:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            hunt = Hunt(cuco, pathlib.Path(folder), show)
            hunt.command(name)
        tries, wrong = tries + hunt.count, wrong + len(hunt.failures)
        print(f"{name}: {hunt.count} tries, {len(hunt.failures)} wrong, {time.monotonic() - begun:.0f} s", flush=True)
    print(f"{tries} tries, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
