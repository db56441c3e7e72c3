#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `cuco serve` answers, and to whom.

    server.py CUCO
"""
import http.client
import json
import socket
import subprocess
import sys
import tempfile
import time

from runs import Run, Server, make_demo

CUCO = sys.argv[1]


def ask(server, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, path, skip_host="Host" in names)
    for name, value in ({"Content-Length": "0"} if method == "POST" else {}).items() | names.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def answers_on_loopback(folder):
    with Server(CUCO, folder) as server:
        runs = server.json("/api/runs")
        assert [run["run"] for run in runs] == ["0001", "demo"], runs
        best, count = runs[0]["best"]["candidate"], runs[0]["candidates"]
        assert best > 0 and count > best, runs[0]
        rows = server.json("/api/runs/demo/candidates")
        assert len(rows["rows"]) == count and rows["best"] == best, rows
        one = server.json(f"/api/runs/demo/candidates/{best}")
        rungs = [verdict["rung"] for verdict in one["verdicts"]]
        assert rungs[0] == "virtual/quick" and rungs[-1] == "virtual/final", rungs
        assert "ncclAllGather" in one["seed_files"][0]["text"] and one["files"] != one["seed_files"]
        assert server.json("/api/runs/demo/cost")["total"]["calls"] == 0
        assert server.json("/api/runs/demo")["steps"][0]["step"] == "analyse"
        assert server.json("/api/knowledge") == {"lessons": []}
        refuses_others(server)
        records_only_for_its_own_pages(server)
        tells_what_is_wrong(server)
        is_nowhere_else(server)


def refuses_others(server):
    own = f"127.0.0.1:{server.port}"
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", f"127.0.0.1:{server.port}.evil.example",
                 "localhost.evil.example", f"127.0.0.1:{server.port + 1}", ""):
        assert ask(server, "/api/runs", Host=host)[0] in (400, 403), host
    for host in (own, f"localhost:{server.port}"):
        assert ask(server, "/api/runs", Host=host)[0] == 200, host
    assert ask(server, "/api/runs", Origin="http://evil.example")[0] == 403
    assert ask(server, "/api/runs", Origin="null")[0] == 403
    assert ask(server, "/api/runs", Origin=f"http://{own}")[0] == 200
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert ask(server, "/api/runs", Sec_Fetch_Site=site)[0] == status, site
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        assert ask(server, "/api/runs", method=method)[0] in (400, 404, 405), method
    status, headers, _ = ask(server, "/")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe-eval" not in policy, policy
    assert "script-src 'self'" in policy or "script-src" not in policy, policy
    assert headers["X-Content-Type-Options"] == "nosniff" and "Access-Control-Allow-Origin" not in headers, headers


def records_only_for_its_own_pages(server):
    own = f"http://127.0.0.1:{server.port}"
    path = "/api/runs/demo/candidates/4/timeline"
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": f"http://127.0.0.1:{server.port + 1}"},
                    {"Origin": own, "Sec_Fetch_Site": "cross-site"}, {"Origin": own, "Sec_Fetch_Site": "same-site"},
                    {"Origin": f"http://evil.example:{server.port}", "Host": f"evil.example:{server.port}"}):
        assert ask(server, path, method="POST", **headers)[0] == 403, headers
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        assert ask(server, path, method=method, Origin=own)[0] in (400, 404, 405), method
    for other in ("/api/runs/demo/candidates/4", "/api/runs/demo/candidates/4/timeline/", "/api/runs", "/", "/api/recording"):
        assert ask(server, other, method="POST", Origin=own)[0] == 405, other
    for other in ("demo/candidates/99", "77/candidates/4", "..%2f..%2fetc/candidates/4"):
        status, _, body = ask(server, f"/api/runs/{other}/timeline", method="POST", Origin=own)
        assert status in (404, 405) and (status == 405 or "error" in json.loads(body)), (other, status, body)
    assert server.json("/api/recording") is None
    # The demonstration's workload is not in this folder: it cannot be recorded, and the page learns why.
    status, _, body = ask(server, path, method="POST", Origin=own, Sec_Fetch_Site="same-origin")
    assert status == 202 and json.loads(body)["state"] in ("running", "failed"), (status, body)
    limit = time.monotonic() + 60
    while (state := server.json("/api/recording"))["state"] == "running":
        assert time.monotonic() < limit, state
        time.sleep(0.1)
    assert state["state"] == "failed" and "gemm_allgather" in state["problem"], state


def records_nothing_of_what_was_rejected(folder, runs):
    rejected = Run(runs / "0001").add(verdict="wrong-result", seconds=0, text="wrong result: C[0] is nan, expected 0.25")
    with Server(CUCO, folder) as server:
        own = f"http://127.0.0.1:{server.port}"
        status, _, body = ask(server, f"/api/runs/0001/candidates/{rejected}/timeline", method="POST", Origin=own)
        assert status == 404 and "only what passed" in json.loads(body)["error"], (status, body)
        assert server.json("/api/recording") is None


def tells_what_is_wrong(server):
    for path in ("/api/runs/..%2f..%2fetc", "/api/runs/../demo", "/api/runs/%2e%2e", "/api/runs/9", "/api/runs/demo/candidates/99",
                 "/api/runs/demo/candidates/-1", "/api/runs/demo/candidates/1e9", "/api/runs/demo/nothing", "/api/nothing",
                 "/api/runs/demo/timeline", "/api/runs/demo/candidates/4/timeline", "/api/runs/0001%00"):
        status, _, body = ask(server, path)
        assert status == 404 and "error" in json.loads(body), (path, status, body)
    for path in ("/assets/../../../../etc/passwd", "/assets/..%2f..%2f..%2fetc/passwd", "/..%2f..%2f..%2fetc%2fpasswd", "//etc/passwd",
                 "/assets/%2e%2e/%2e%2e/etc/passwd"):
        status, _, body = ask(server, path)
        assert b"root:" not in body, (path, status)


def is_nowhere_else(server):
    """Only loopback listens: not the machine's own address."""
    others = {address[4][0] for address in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in others - {"127.0.0.1", "127.0.1.1"}:
        with socket.socket() as probe:
            probe.settimeout(2)
            assert probe.connect_ex((address, server.port)) != 0, address


def wants_a_token_elsewhere(folder):
    with Server(CUCO, folder, "--address", "0.0.0.0") as server:
        assert server.token and len(server.token) == 32, server.greeting
        assert ask(server, "/api/runs")[0] == 401
        assert ask(server, "/api/runs?token=" + "0" * 32)[0] == 401
        assert ask(server, "/api/runs", Cookie="cuco_token=" + "0" * 32)[0] == 401
        status, headers, _ = ask(server, "/runs/demo?token=" + server.token)
        assert status == 302 and headers["Location"] == "/runs/demo", (status, headers)
        assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"], headers
        cookie = headers["Set-Cookie"].split(";")[0]
        assert ask(server, "/api/runs", Cookie=cookie)[0] == 200
        assert ask(server, "/api/runs", Cookie=cookie, Origin="http://evil.example")[0] == 403
    with Server(CUCO, folder) as server:
        assert not server.token


def shows_only_what_was_named(folder):
    with Server(CUCO, folder, "demo") as server:
        assert [run["run"] for run in server.json("/api/runs")] == ["demo"]
        assert ask(server, "/api/runs/0001")[0] == 404
        assert ask(server, "/api/runs/0001/events")[0] == 404
    done = subprocess.run([CUCO, "serve", "--port", "0", "77"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2 and "no run '77'" in done.stderr, done


def tells_what_changes(folder, runs):
    run = Run(runs / "0001")
    run.hold()
    with Server(CUCO, folder) as server:
        last = server.json("/api/runs/0001/candidates")["sequence"]
        stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        stream.request("GET", f"/api/runs/0001/events?after={last}")
        answer = stream.getresponse()
        assert answer.getheader("Content-Type") == "text/event-stream", answer.getheaders()
        begin = time.monotonic()
        number = run.add(because="<b>")
        while not (line := answer.readline()).startswith(b"data: "):
            assert time.monotonic() - begin < 10, line
        seconds = time.monotonic() - begin
        change = json.loads(line[len(b"data: "):])
        assert change["state"] == "running" and [row[0] for row in change["rows"]] == [number], change
        print(f"an event was told after {seconds:.2f} s")
        assert seconds < 1, seconds
        # Those who only listen must not keep others out.
        listeners = []
        for _ in range(40):
            listener = socket.create_connection(("127.0.0.1", server.port), timeout=5)
            listener.sendall(f"GET /api/runs/0001/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
            listeners.append(listener)
        assert server.json("/api/runs")[0]["state"] == "running"
        for listener in listeners:
            listener.close()


def is_small_with_many_candidates(folder, runs):
    run = Run(runs / "0001")
    run.add(10_000)
    with Server(CUCO, folder) as server:
        begin = time.monotonic()
        rows = server.json("/api/runs/0001/candidates")
        assert len(rows["rows"]) > 10_000
        print(f"10,000 candidates were told after {time.monotonic() - begin:.2f} s")
        server.json("/api/runs")
        server.json("/api/runs/0001/candidates/5000")
        megabytes = server.resident_bytes() / 1e6
        print(f"the server has {megabytes:.0f} MB")
        assert megabytes < 200, megabytes


def tells_costs_in_pages(folder, runs):
    """Behind ten thousand candidates: none of their prompts is read for it."""
    Run(runs / "0001").ask(3000, 20_000)
    with Server(CUCO, folder) as server:
        begin = time.monotonic()
        cost = server.json("/api/runs/0001/cost")
        seconds = time.monotonic() - begin
        assert cost["total"]["calls"] == 3000 and cost["candidates_in_all"] == 3000, cost["total"]
        assert [one["candidate"] for one in cost["candidates"]] == list(range(1, 201)), len(cost["candidates"])
        page = server.json("/api/runs/0001/cost/2900")
        assert [one["candidate"] for one in page["candidates"]] == list(range(2901, 3001)), len(page["candidates"])
        assert server.json("/api/runs/0001/cost/5000")["candidates"] == []
        for wrong in ("-1", "x", "1e3", "1/2"):
            assert ask(server, "/api/runs/0001/cost/" + wrong)[0] == 404, wrong
        megabytes = server.resident_bytes() / 1e6
        print(f"3,000 questions of 40 kB were summed up after {seconds:.2f} s; the server has {megabytes:.0f} MB")
        assert megabytes < 200, megabytes


def knows_the_archive(folder, runs):
    run = Run(runs / "0001")
    for number, exposed in ((1, 0.01), (2, 0.1), (4, 0.6), (5, 0.9), (5, 0.2)):
        run.profile(number, exposed)
    with Server(CUCO, folder) as server:
        archive = server.json("/api/runs/0001/archive")
        assert archive["bins"] == ["little", "some", "much", "unknown"], archive["bins"]
        bins = {number: name for number, name, _ in archive["exposed"]}
        assert [bins[number] for number in (1, 2, 4, 5)] == ["little", "some", "much", "some"], bins


with tempfile.TemporaryDirectory() as root:
    made = make_demo(CUCO, root)
    answers_on_loopback(root)
    wants_a_token_elsewhere(root)
    shows_only_what_was_named(root)
    tells_what_changes(root, made)
    is_small_with_many_candidates(root, made)
    tells_costs_in_pages(root, made)
    knows_the_archive(root, made)
    records_nothing_of_what_was_rejected(root, made)
