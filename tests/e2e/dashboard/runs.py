# SPDX-License-Identifier: Apache-2.0
"""Runs to show, and a server that shows them."""
import fcntl
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import time
import urllib.request


class Server:
    """cuco serve on a free port, in a folder with runs; ended with the block."""

    def __init__(self, cuco, folder, *words):
        self.process = subprocess.Popen([cuco, "serve", "--port", "0", *words], cwd=folder, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://[^:]+:(\d+)/(?:\?token=(\w+))?", line)
        assert found, line
        self.port, self.token, self.greeting = int(found[1]), found[2], line
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)

    def json(self, path):
        with urllib.request.urlopen(self.url + path, timeout=20) as answer:
            return json.load(answer)

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])


class Run:
    """A run that this test writes, as a search would: each change is one transaction."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder)
        self.database = sqlite3.connect(self.path / "events.db", isolation_level=None)
        self.template = dict(zip([column[1] for column in self.database.execute("PRAGMA table_info(candidates)")],
                                 self.database.execute("SELECT * FROM candidates WHERE number = 4").fetchone()))
        self.proposal = json.loads(self.database.execute("SELECT body FROM events WHERE kind = 'proposed' AND "
                                                         "json_extract(body, '$.candidate.number') = 4").fetchone()[0])
        self.verdict = self.database.execute("SELECT body FROM events WHERE kind = 'evaluated' AND json_extract(body, '$.candidate') = 4 "
                                             "ORDER BY sequence DESC").fetchone()[0]
        self.lock = None

    def hold(self):
        """From now on it is running."""
        self.database.execute("UPDATE run SET finished = NULL")
        self.lock = open(self.path / "lock", "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def count(self):
        return self.database.execute("SELECT count(*) FROM candidates").fetchone()[0]

    def add(self, count=1, **columns):
        """More candidates like #4 with other columns; the last one's number."""
        self.database.execute("BEGIN IMMEDIATE")
        first = self.count()
        for number in range(first, first + count):
            row = {**self.template, "number": number, "parent": max(0, number - 3), **columns}
            if count > 1 and number % 7 == 0:
                row.update(verdict="wrong-result", seconds=0, text=f"wrong result: C[{number}] is nan, expected 0.25")
            elif count > 1:
                row["seconds"] = self.template["seconds"] * (1.1 + (number * 7919 % 1000) / 1500)
            self.database.execute(f"INSERT INTO candidates({', '.join(row)}) VALUES({', '.join('?' * len(row))})",
                                  list(row.values()))
            body = json.loads(json.dumps(self.proposal))
            body["candidate"].update(number=number, **({"lineage": {**body["candidate"]["lineage"], "because": columns["because"]}}
                                                       if "because" in columns else {}))
            body["decision"] = number
            self.database.execute("INSERT INTO events(time_ms, kind, body) VALUES(?, 'proposed', ?)",
                                  (int(time.time() * 1000), json.dumps(body)))
        self.database.execute("COMMIT")
        return first + count - 1

    def append(self, kind, body):
        """An event as it is."""
        self.database.execute("INSERT INTO events(time_ms, kind, body) VALUES(?, ?, ?)",
                              (int(time.time() * 1000), kind, json.dumps(body)))

    def ask(self, count, bytes_each):
        """So many questions to a model, one for each decision from 1 on."""
        self.database.execute("BEGIN IMMEDIATE")
        for decision in range(1, count + 1):
            self.append("exchanged", {"decision": decision, "exchange": {
                "question": f"q{decision}", "provider": "fake", "model": "m", "role": "propose", "prompt": "p" * bytes_each,
                "answer": "a" * bytes_each, "prompt_tokens": 100, "answer_tokens": 10, "cached_tokens": 0, "reasoning_tokens": 0,
                "lost_tokens": 0, "dollars": 0.001, "answered_by": "", "seconds": 1.0}})
        self.database.execute("COMMIT")

    def profile(self, number, exposed):
        """One more verdict on a candidate that says where its time goes."""
        body = {**json.loads(self.verdict), "candidate": number}
        body["outcome"]["shapes"][0]["phases"] = [{"phase": "instructions", "seconds": 1 - exposed},
                                                  {"phase": "polling for signals", "seconds": exposed}]
        body["outcome"]["shapes"] = body["outcome"]["shapes"][:1]
        self.append("evaluated", body)


def make_demo(cuco, folder):
    """runs/demo and a copy of it as runs/0001."""
    subprocess.run([cuco, "demo"], cwd=folder, check=True, capture_output=True)
    runs = pathlib.Path(folder) / "runs"
    shutil.copytree(runs / "demo", runs / "0001")
    return runs
