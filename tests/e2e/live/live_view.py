#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The live view on a real terminal: the recorded run played back behind a pseudo-terminal, or, where there are
workloads, a real search and a real judgement.

    live_view.py CUCO [WORKLOADS]
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time

CUCO = os.path.abspath(sys.argv[1])
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Played:
    """`cuco demo` on a terminal of that size."""

    def __init__(self, folder, columns=80, rows=24, words=("demo", "--speed", "30"), **environment):
        self.text = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.chdir(folder)
            os.execve(CUCO, [CUCO, *words], {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "", **environment})
        self.resize(columns, rows)

    def resize(self, columns, rows):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, wanted=None, seconds=60):
        """Until the text has come, or the end."""
        limit = time.monotonic() + seconds
        while wanted is None or wanted not in COLOUR.sub("", self.text):
            assert time.monotonic() < limit, self.text[-2000:]
            if not select.select([self.terminal], [], [], 1)[0]:
                continue
            try:
                self.text += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:  # the other side is gone
                break

    def end(self):
        self.read_until()
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.terminal)
        return status


def screen(text, columns, rows):
    """What a terminal shows after the text: as much of one as the view uses."""
    lines, line, column = [[]], 0, 0
    for part in re.findall(r"\x1b\[\??[0-9;]*[a-zA-Z]|[^\x1b]", text):
        if part.startswith("\x1b"):
            count = int(re.sub(r"\D", "", part) or 1)
            if part.endswith("A"):
                line = max(line - count, 0)
            elif part.endswith("K"):
                del lines[line][column:]
            elif part.endswith("J"):
                del lines[line][column:], lines[line + 1:]
        elif part == "\r":
            column = 0
        elif part == "\n":
            line += 1
        else:
            if column == columns:
                line, column = line + 1, 0
            while len(lines) <= line:
                lines.append([])
            lines[line][column:column + 1] = part
            column += 1
            continue
        while len(lines) <= line:
            lines.append([])
        lines[line] += [" "] * (column - len(lines[line]))
    return ["".join(one).rstrip() for one in lines]


def is_drawn_in_place(folder):
    played = Played(folder)
    status = played.end()
    assert os.waitstatus_to_exitcode(status) == 0, played.text
    assert HIDE in played.text and played.text.rindex(SHOW) > played.text.rindex(HIDE)
    plain = COLOUR.sub("", played.text)
    assert "── gemm_allgather" in plain and "% of the way" in plain, plain[-3000:]
    shown = screen(played.text, 80, 24)
    assert any(one.startswith("done") for one in shown), shown
    # Nothing of the view stays behind.
    assert not any("── gemm_allgather" in one or one.startswith(" budget") for one in shown), shown
    assert COLOUR.search(played.text)


def obeys_the_environment(folder):
    played = Played(folder, NO_COLOR="1")
    played.end()
    assert HIDE in played.text and not COLOUR.search(played.text)
    played = Played(folder, TERM="dumb")
    played.end()
    assert "\x1b" not in played.text and "done" in played.text
    played = Played(folder, words=("demo", "--quiet", "--speed", "1000"))
    played.end()
    assert HIDE not in played.text
    played = Played(folder, words=("demo", "--json"))
    played.end()
    assert "\x1b" not in played.text and '"event":"best"' in played.text.replace(" ", ""), played.text[-500:]


def fits_a_small_terminal(folder):
    played = Played(folder, 40, 24, words=("demo", "--speed", "20"))
    played.read_until(" budget")
    played.resize(30, 5)
    time.sleep(0.5)
    played.resize(100, 30)
    assert os.waitstatus_to_exitcode(played.end()) == 0
    assert SHOW in played.text


def gives_the_cursor_back(folder):
    for number, times in ((signal.SIGINT, 1), (signal.SIGTERM, 2), (signal.SIGSEGV, 1), (signal.SIGHUP, 1), (signal.SIGABRT, 1)):
        played = Played(folder, words=("demo", "--speed", "1"))
        played.read_until("── gemm_allgather")
        for _ in range(times):
            os.kill(played.pid, number)
            time.sleep(0.1)
        status = played.end()
        assert status != 0, number
        assert played.text.rindex(SHOW) > played.text.rindex(HIDE), (number, played.text[-300:])


def shows_a_real_search(folder):
    played = Played(folder, 100, 30, words=("optimize", f"{WORKLOADS}/silu_and_mul", "--candidates", "4"))
    played.read_until("── silu_and_mul", 300)
    played.read_until(" running", 300)
    played.read_until(None, 600)
    assert os.waitstatus_to_exitcode(played.end()) == 0, played.text[-3000:]
    plain = COLOUR.sub("", played.text)
    assert re.search(r"running +#\d+ ", plain) and re.search(r"#\d+ .*(building|\d+/\d+)", plain), plain[-3000:]
    shown = screen(played.text, 100, 30)
    assert any(one.startswith("done") for one in shown), shown
    assert not any("── silu_and_mul" in one for one in shown), shown


def shows_a_real_judgement(folder):
    words = ("judge", "--fidelity", "standard", f"{WORKLOADS}/silu_and_mul", f"{WORKLOADS}/silu_and_mul/program.cu")
    played = Played(folder, 100, 30, words=words)
    played.read_until("judging program.cu · silu_and_mul · standard", 300)
    played.read_until(None, 300)
    assert os.waitstatus_to_exitcode(played.end()) == 0, played.text[-3000:]
    assert re.search(r"judging program.cu · silu_and_mul · standard  \S+ \d+/\d+", COLOUR.sub("", played.text)), played.text[-3000:]
    shown = screen(played.text, 100, 30)
    assert not any("judging" in one for one in shown), shown


played_back = (is_drawn_in_place, obeys_the_environment, fits_a_small_terminal, gives_the_cursor_back)
WORKLOADS = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
with tempfile.TemporaryDirectory() as root:
    for step in (shows_a_real_judgement, shows_a_real_search) if WORKLOADS else played_back:
        step(root)
        print("ok  ", step.__name__)
