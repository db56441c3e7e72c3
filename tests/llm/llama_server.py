#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Providers against llama.cpp's own server: llama_server.py CUCO

Opt-in, since it downloads 50 MB from npm and compiles for minutes: CUCO_LLAMA_SERVER names a folder to do so in,
where it stays for the next time. node-llama-cpp's packages carry llama.cpp's libraries and its source; only the
server is compiled, without pictures and pages. The model has random weights (random_model.py): what it says means
nothing, so that what counts is that answers stream, are counted, and have the form that was asked for.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
VERSION, PORT_TRIES = "3.22.1", 300
SKIPPED = 77
NO_PAGES = """#pragma once
#include <array>
#include <string>
struct llama_ui_asset { std::string name; const unsigned char* data; std::size_t size; std::string etag, type; };
inline const llama_ui_asset* llama_ui_find_asset(const std::string&) { return nullptr; }
inline bool llama_ui_use_gzip() { return false; }
inline const std::array<llama_ui_asset, 0>& llama_ui_get_assets() { static std::array<llama_ui_asset, 0> none; return none; }
"""
SERVICE = """[service.{protocol}]
protocol = "{protocol}"
url = "http://127.0.0.1:{port}/v1"
key = "none"
"""
MODEL = """[[model]]
service = "chat"
name = "*"
schema = true
"""


def shell(folder, *words):
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)


def unpack(folder, package, to):
    if not (folder / to).exists():
        archive = shell(folder, "npm", "pack", "--silent", f"{package}@{VERSION}").stdout.split()[-1]
        (folder / "package").mkdir()
        shell(folder, "tar", "xzf", archive)
        (folder / "package").rename(folder / to)


def libraries(folder):
    at = folder / "built/bins/linux-x64"
    return [next(at.glob(name)) for name in
            ("libllama-common.so", "libllama.*so", "libggml.*so", "libggml-base.so")]


def compile_server(folder):
    source, objects = folder / "source", folder / "objects"
    if not source.exists():
        shell(folder, "git", "clone", "-q", "package_of_source/llama/gitRelease.bundle", "source")
    objects.mkdir(exist_ok=True)
    (objects / "ui.h").write_text(NO_PAGES)
    includes = [objects, *(source / name for name in ("include", "ggml/include", "common", "vendor", "tools/server",
                                                      "tools/mtmd", "."))]
    for file in [*sorted((source / "tools/server").glob("*.cpp")), source / "vendor/cpp-httplib/httplib.cpp"]:
        made = objects / (file.stem + ".o")
        if not made.exists():
            shell(folder, "g++", "-std=c++17", "-O0", "-w", "-pthread", "-DGGML_USE_CPU",
                  *(f"-I{path}" for path in includes), "-c", file, "-o", made)
    link(folder, sorted(objects.glob("*.o")))


def link(folder, objects):
    """What handles pictures is not there: each of its functions gives its argument or nothing back."""
    rest = [*libraries(folder), f"-Wl,-rpath,{libraries(folder)[0].parent}", "-pthread"]
    tried = subprocess.run(["g++", *objects, *rest, "-Wl,--warn-unresolved-symbols", "-Wl,--no-demangle", "-o",
                            folder / "unlinked"], capture_output=True, text=True)
    missing = sorted({line.split("`")[1].rstrip("'") for line in tried.stderr.splitlines()
                      if "undefined reference to" in line})
    stubs = [f".globl {name}\n{name}:\n {'mov %rdi,%rax' if name.endswith('default') else 'xor %eax,%eax'}\n ret\n"
             for name in missing]
    (folder / "stubs.s").write_text("".join(stubs) + '.section .note.GNU-stack,"",@progbits\n')
    shell(folder, "g++", *objects, folder / "stubs.s", *rest, "-o", folder / "llama-server")


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "llama-server").exists():
        unpack(folder, "node-llama-cpp", "package_of_source")
        unpack(folder, "@node-llama-cpp/linux-x64", "built")
        compile_server(folder)
    if not (folder / "tiny.gguf").exists():
        shell(folder, sys.executable, HERE / "random_model.py", "source/models/ggml-vocab-llama-spm.gguf", "tiny.gguf")


def check(condition, *what):
    if not condition:
        sys.exit("failed: " + " ".join(map(str, what)))


def ask(cuco, folder, service):
    done = subprocess.run([cuco, "--json", "--set", f"llm.models_file={folder}/models.toml", "llm", "test",
                           f"{service}:tiny"], capture_output=True, text=True, timeout=300,
                          env={"PATH": os.environ["PATH"], "HOME": str(folder)})
    check(done.stdout.startswith("{"), service, done)
    said = json.loads(done.stdout)
    print(service, said)
    check(said["streamed"] and said["attempts"] == 1, service, said)
    check(said["prompt_tokens"] > 10 and said["answer_tokens"] > 0, service, said)
    return said


def main():
    chosen = os.environ.get("CUCO_LLAMA_SERVER")
    if not chosen:
        print("not asked for: CUCO_LLAMA_SERVER names no folder; llama-server is NOT tested")
        sys.exit(SKIPPED)
    home = pathlib.Path(chosen).absolute()
    make(home)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        port = 18000 + os.getpid() % 1000
        with open(folder / "log", "w", encoding="utf-8") as log:
            server = subprocess.Popen(
                [home / "llama-server", "-m", home / "tiny.gguf", "--port", str(port), "-c", "512",
                 "--no-jinja", "--chat-template", "llama2"], stdout=log,
                stderr=log, env=os.environ | {"GGML_BACKEND_PATH": str(libraries(home)[0].parent / "libggml-cpu-x64.so")})
        try:
            services = [SERVICE.format(protocol=protocol, port=port) for protocol in ("chat", "responses", "messages")]
            (folder / "models.toml").write_text("".join(services) + MODEL)
            for _ in range(PORT_TRIES):
                if "listening on" in (folder / "log").read_text(errors="replace"):
                    break
                time.sleep(0.1)
            by_schema = ask(sys.argv[1], folder, "chat")
            # The server enforces the schema: even these weights begin an object with its members, whatever they say.
            begin = " ".join(by_schema["missing"]).replace(" ", "")
            check(by_schema["structured"] or '{"word":"' in begin or '{"sum":' in begin, "no object", by_schema)
            ask(sys.argv[1], folder, "responses")
            ask(sys.argv[1], folder, "messages")
        finally:
            server.kill()
            server.wait()


main()
