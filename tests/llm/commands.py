#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What users see of models: cuco llm, cuco prompt. Usage: commands.py CUCO SOURCE_DIR"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

CUCO, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
KEY = "sk-test-0123456789abcdef"
MODELS = """
dated = "2030-01"
[service.house]
protocol = "messages"
url = "http://127.0.0.1:{port}/v1"
key = "x-api-key"
key_variable = "HOUSE_KEY"
test_model = "fault-json"
[[model]]
service = "house"
name = "fault-json"
context = 1000
prices = {{ in = 1000, out = 2000, cached = 500 }}
"""


def check(condition, *what):
    if not condition:
        sys.exit("failed: " + " ".join(map(str, what)))


def start_server(folder):
    port_file = folder / "port"
    server = subprocess.Popen([sys.executable, SOURCE / "tests/llm/fault_server.py", port_file])
    for _ in range(300):
        if port_file.exists():
            return server, int(port_file.read_text())
        time.sleep(0.1)
    sys.exit("fault_server.py does not start")


def cuco(folder, *words, **variables):
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **variables}
    done = subprocess.run([CUCO, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    for stream in (done.stdout, done.stderr):
        check(KEY not in stream, "the key is shown:", stream)
    return done


def check_llm(folder, port):
    (folder / ".config/cuco").mkdir(parents=True)
    (folder / ".config/cuco/models.toml").write_text(MODELS.format(port=port))
    listed = cuco(folder, "llm", "list", HOUSE_KEY=KEY)
    check(listed.returncode == 0 and "no key (OPENAI_API_KEY)" in listed.stdout, listed)
    check("house" in listed.stdout and "has a key" in listed.stdout, listed)

    seen = json.loads(cuco(folder, "llm", "test", "house", "--json", HOUSE_KEY=KEY).stdout)
    check(seen["streamed"] and seen["structured"] and seen["missing"] == [], seen)
    check(abs(seen["dollars"] - (7 * 1000 + 4 * 500 + 5 * 2000) * 1e-6) < 1e-9, seen)
    text = cuco(folder, "llm", "test", "house", HOUSE_KEY=KEY)
    check(text.returncode == 0 and "(prices of 2030-01)" in text.stdout, text)

    other = cuco(folder, "llm", "test", "house:fault-none", HOUSE_KEY=KEY)
    check(other.returncode == 1 and "not the object that was asked for: Hello" in other.stdout, other)
    check("no price is known" in other.stdout, other)

    refused = cuco(folder, "llm", "test", "house:fault-echoes-key", HOUSE_KEY=KEY)
    check(refused.returncode == 1 and "HTTP 401" in refused.stderr and "[key]" in refused.stderr, refused)
    missing = cuco(folder, "llm", "test", "house")
    check(missing.returncode == 3 and "set HOUSE_KEY" in missing.stderr, missing)

    stalled = subprocess.Popen([CUCO, "llm", "test", "house:fault-stall"], cwd=folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], "HOME": str(folder),
                                                               "HOUSE_KEY": KEY})
    no_core = False
    for _ in range(100):
        time.sleep(0.05)
        limits = pathlib.Path(f"/proc/{stalled.pid}/limits").read_text()
        no_core = re.search(r"Max core file size +0 +0 ", limits) is not None
        if no_core:
            break
    stalled.kill()
    stalled.wait()
    check(no_core, "a core file could hold the key")

    (folder / "key").write_text(KEY)
    os.chmod(folder / "key", 0o644)
    named = ("--set", "llm.service=house", "--set", "llm.key_file=key")
    public = cuco(folder, "llm", "test", "house", *named)
    check(public.returncode == 2 and "chmod 600" in public.stderr, public)
    os.chmod(folder / "key", 0o600)
    check(cuco(folder, "llm", "test", "house", *named).returncode == 0, "a key file of mode 600")

    (folder / "answer.sh").write_text('#!/bin/sh\ncat > /dev/null\necho "Sure: {\\"word\\": \\"cuco\\", \\"sum\\": $1}"\n')
    os.chmod(folder / "answer.sh", 0o755)
    command = cuco(folder, "llm", "test", "command:./answer.sh 42")
    check(command.returncode == 0 and "read from its text" in command.stdout, command)


def check_wrong_words(folder):
    """What is wrong is said in one sentence before anything is judged, and leaves no run behind."""
    workload = str(SOURCE / "workloads/silu_and_mul")
    (folder / "file").write_text("")
    (folder / "broken.toml").write_text('[service.x]\nprotocol = "chatt"\n')
    for words, code, said in (
            (("--model", "vllm:"), 2, "names no model"),
            (("--model", "nosuch:gpt"), 3, "there is no service 'nosuch'"),
            (("--model", "openai:gpt-5", "--endpoint", "htp://x"), 2, "'htp://x' is no URL"),
            (("--model", "azure:mine", "--set", "llm.key_file=key"), 2, "has no URL"),
            (("--model", "openai:gpt-5", "--set", "llm.key_file=none"), 2, "llm.key_file"),
            (("--model", "openai:gpt-5", "--set", "llm.models_file=broken.toml"), 2, "broken.toml:2"),
            (("--proposer", "mailbox:file"), 2, "mailbox 'file'"),
            (("--proposer", "mailbox:/proc/no"), 2, "mailbox '/proc/no'"),
            (("--proposer", "command:./no-such"), 2, "no such program"),
            (("--replay", "none.jsonl"), 2, "none.jsonl")):
        done = cuco(folder, "optimize", workload, "--candidates", "2", *words)
        check(done.returncode == code and said in done.stderr and len(done.stderr.splitlines()) == 1, words, done)
        check(not (folder / "runs").exists(), "a run is left behind by", words)


def check_prompt(folder):
    workload = str(SOURCE / "workloads/silu_and_mul")
    plain = cuco(folder, "prompt", "propose", workload, "--unjudged")
    check(plain.returncode == 0, plain.stderr)
    check(plain.stdout.startswith("--- system\nYou are") and "--- prompt\n" in plain.stdout, plain.stdout[:200])
    whole = json.loads(cuco(folder, "prompt", "propose", workload, "--unjudged", "--json").stdout)
    check(whole["prompt"] in plain.stdout and 0 < whole["shared_prefix"] < len(whole["prompt"].encode()), whole.keys())
    body = json.loads(cuco(folder, "prompt", "propose", workload, "--unjudged", "--body", "--model",
                           "anthropic:claude-sonnet-4-5").stdout)
    blocks = body["messages"][0]["content"]
    check("".join(block["text"] for block in blocks) == whole["prompt"], "the body has another prompt")
    check("cache_control" in blocks[0] and body["system"][0]["text"] == whole["system"], body.keys())
    for part in ("tokens = 16, width = 4096, bf16 = 1", "relative 1e-05", "int cuco_run(void* state", "132 SMs",
                 "the directive is `none`"):
        check(part in whole["prompt"], part)
    check("NCCL device API" not in whole["prompt"], "a program of one GPU needs no API")
    planner = json.loads(cuco(folder, "prompt", "planner", workload, "--unjudged", "--json").stdout)
    check('"expected_gain"' in planner["prompt"] and "never a verdict" in planner["system"], planner["system"])
    wrong = cuco(folder, "prompt", "poet", workload)
    check(wrong.returncode == 2 and "there are: propose, coder" in wrong.stderr, wrong)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        server, port = start_server(folder)
        try:
            check_llm(folder, port)
            if "--prompt" in sys.argv:
                check_prompt(folder)
                check_wrong_words(folder)
        finally:
            server.kill()
            server.wait()


main()
