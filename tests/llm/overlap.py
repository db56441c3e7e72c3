#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proposing overlaps judging: overlap.py CUCO SOURCE

`cuco optimize --model …` against a model that takes 200 ms for an answer and gets up to 8 questions at once. From the
first answer to the last verdict the judge (nvcc and trials) must be busy at least 90 % of the time.
"""
import http.server
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

CUCO, SOURCE = (pathlib.Path(word).absolute() for word in sys.argv[1:3])
LATENCY, IN_FLIGHT, CANDIDATES, LEAST = 0.2, 8, 14, 0.9
COMPILERS = ("nvcc", "cicc", "ptxas", "cc1plus", "cudafe++", "fatbinary", "gcc", "g++", "as", "ld", "collect2")
MODELS = """
[service.slow]
protocol = "chat"
url = "http://127.0.0.1:{port}/v1"
key = "none"
in_flight = {in_flight}
[[model]]
service = "slow"
name = "coder"
context = 100000
"""
lock = threading.Lock()
asked = []  # (begin, end) of every question
inside = most_inside = 0


def answers():
    """The seed with another number of threads a block each: equally right, and never the same machine code."""
    text = (SOURCE / "workloads/silu_and_mul/program.cu").read_text()
    body = text[text.index("evolve begin host\n") + 18:]
    body = body[:body.index("// cuco: evolve end")]
    for threads in range(32, 1025, 32):
        if threads != 256:
            yield f"BECAUSE: {threads} threads\nREGION host\n```cuda\n{body.replace('256', str(threads))}```\n"


NEXT = answers()


class Model(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        global inside, most_inside
        self.rfile.read(int(self.headers["content-length"]))
        begin = time.time()
        with lock:
            inside += 1
            most_inside = max(most_inside, inside)
            text = next(NEXT)
        time.sleep(LATENCY)
        parts = [{"model": "coder", "choices": [{"delta": {"content": text}}]},
                 {"choices": [{"delta": {}, "finish_reason": "stop"}],
                  "usage": {"prompt_tokens": 1, "completion_tokens": 1}}]
        stream = "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(stream)))
        self.end_headers()
        self.wfile.write(stream.encode())
        with lock:
            inside -= 1
            asked.append((begin, time.time()))


def descendants(process):
    parents = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                text = pathlib.Path(entry.path, "stat").read_text()
            except OSError:
                continue
            name = text[text.index("(") + 1:text.rindex(")")]
            parents.setdefault(int(text[text.rindex(")") + 2:].split()[1]), []).append((int(entry.name), name))
    found, todo = [], [process]
    while todo:
        for child, name in parents.get(todo.pop(), []):
            found.append(name)
            todo.append(child)
    return found


def union(spans, begin, end):
    """How much of begin…end the spans cover."""
    covered, at = 0.0, begin
    for first, last in sorted(spans):
        first, last = max(first, at), min(last, end)
        if last > first:
            covered, at = covered + last - first, last
    return covered


def check(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (folder / "models.toml").write_text(MODELS.format(port=server.server_address[1], in_flight=IN_FLIGHT))
        run = subprocess.Popen(
            [CUCO, "--json", "--set", f"store.folder={folder}/runs", "--set", f"llm.models_file={folder}/models.toml",
             "optimize", SOURCE / "workloads/silu_and_mul", "--model", "slow:coder", "--window", str(IN_FLIGHT),
             "--candidates", str(CANDIDATES)],
            cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=os.environ | {"XDG_CACHE_HOME": f"{folder}/cache"})
        output = []
        reader = threading.Thread(target=lambda: output.extend(run.stdout), daemon=True)
        reader.start()
        builds, last = [], time.time()
        while run.poll() is None:
            time.sleep(0.05)
            now = time.time()
            if any(word in COMPILERS for word in descendants(run.pid)):
                builds.append((last, now))
            last = now
        reader.join()
        check(run.returncode == 0, f"exit {run.returncode}: {''.join(output)[-3000:]}")
        report(folder, builds)


def report(folder, builds):
    database = sqlite3.connect(next((folder / "runs").glob("*/events.db")))
    rows = database.execute("SELECT time_ms, body FROM events WHERE kind = 'evaluated' ORDER BY sequence").fetchall()
    begin = min(end for _, end in asked)
    verdicts = [(time_ms / 1000 - json.loads(body)["wall_seconds"], time_ms / 1000) for time_ms, body in rows]
    verdicts = [span for span in verdicts if span[1] > begin]
    end = max(span[1] for span in verdicts)
    busy = union(verdicts + builds, begin, end) / (end - begin)
    print(f"{len(verdicts)} verdicts in {end - begin:.1f} s, judge busy {100 * busy:.1f} %; "
          f"{len(asked)} questions, {most_inside} at once")
    check(len(verdicts) >= CANDIDATES - 1, "too few verdicts")
    check(most_inside == IN_FLIGHT, "questions are not asked side by side")
    check(busy >= LEAST, "the judge waits for answers")


main()
