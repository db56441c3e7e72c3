#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that communicates but does not run: cuco analyze says why in one sentence, and shows what
its source says all the same.

    failures.py CUCO
"""
import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """
#include <cstdio>
#include <cuda_runtime.h>
#include <nccl.h>
void step(float* data, ncclComm_t comm) { ncclAllReduce(data, data, 64, ncclFloat, ncclSum, comm, 0); }
int main(int argc, char**) {
  if (argc < 2) {
    std::fprintf(stderr, "no input given\\n");
    return 3;
  }
  int devices[1] = {0};
  ncclComm_t comm;
  float* data = nullptr;
  ncclCommInitAll(&comm, 1, devices);
  cudaMalloc(&data, 256);
  step(data, comm);
  cudaDeviceSynchronize();
  cudaFree(data);
  ncclCommDestroy(comm);
}
"""


def expect(what, condition, run):
    if not condition:
        sys.exit(f"not {what}\nexit {run.returncode}\n{run.stdout}\n{run.stderr}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "p.cu"
        program.write_text(PROGRAM)

        def analyze(*words):
            return subprocess.run([sys.argv[1], *words], capture_output=True, text=True)

        failed = analyze("analyze", program)
        expect("exit 1 for a program that fails", failed.returncode == 1, failed)
        expect("one sentence", failed.stderr.count("\n") == 1, failed)
        expect("the reason", "exits with 3: no input given" in failed.stderr, failed)
        expect("the static part", "all-reduce" in failed.stdout, failed)
        read = analyze("analyze", "--no-trace", program)
        expect("exit 0 with --no-trace", read.returncode == 0 and read.stdout == failed.stdout, read)
        runs = analyze("analyze", "--ranks", "1", program, "--", "input")
        expect("a run with arguments", runs.returncode == 0 and "observed" in runs.stdout, runs)
        as_json = analyze("--json", "analyze", "--no-trace", program)
        expect("no trace in JSON", "trace" not in json.loads(as_json.stdout), as_json)
        dot = analyze("analyze", "--dot", "--ranks", "1", program, "--", "input")
        expect("a graph with times", "could hide (predicted)" in dot.stdout, dot)
    print("passed")


if __name__ == "__main__":
    main()
