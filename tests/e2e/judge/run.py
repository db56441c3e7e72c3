# SPDX-License-Identifier: Apache-2.0
"""cuco init, check and judge as a person uses them. usage: run.py CUCO SOURCE_FOLDER"""
import json, pathlib, subprocess, sys, tempfile

CUCO, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])


def cuco(*words, code=0):
    done = subprocess.run([CUCO, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


LINE = "    y[i] = x[i] * x[i];\n"
RACE = """  {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[i];
    y[i] = tile[threadIdx.x ^ 32] * x[i];
  }
"""
MPI = r"""
#include <mpi.h>
#include <cuda_runtime.h>
#include "beside.h"
#include "away.h"
__global__ void fill(int* out, int rank) { out[threadIdx.x] = FACTOR * (100 * rank + threadIdx.x); }
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cudaSetDevice(rank);
  int* device = nullptr;
  int host[kCount], sum[kCount];
  cudaMalloc(&device, sizeof host);
  fill<<<1, kCount>>>(device, rank);
  if (cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  MPI_Allreduce(host, sum, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return sum[1] == FACTOR * 102 ? 0 : 2;
}
"""


def split(folder):
    cuco("init", folder)
    assert "already exists" in cuco("init", folder, code=2)
    text = cuco("check", folder)
    assert "bound below the seed's time" in text and "rejects zeros" in text, text
    assert "shape fits" in text, text
    program = folder / "program.cu"
    answer = json.loads(cuco("judge", "--own", "--json", "--fidelity", "quick", folder, program))
    assert answer["verdict"] == "scored" and abs(answer["score"] - 0.5) < 1e-6, answer
    assert answer["predicted"] and "build" in answer["stages"], answer
    assert "correct on the check shapes" in cuco("judge", "--own", "--fidelity", "check", folder, program)
    # The same program with a wrong factor: the first wrong element is named.
    wrong = folder / "wrong.cu"
    wrong.write_text(program.read_text().replace("x[i] * x[i]", "x[i] * 0.5f"))
    text = cuco("judge", "--own", "--fidelity", "check", folder, wrong, code=1)
    assert "wrong result: y[0] on rank 0" in text, text
    # A race is a wrong result with its two lines: nobody waits for the neighbour's element.
    racy = folder / "racy.cu"
    racy.write_text(program.read_text().replace(LINE, RACE))
    assert LINE in program.read_text()
    text = cuco("judge", "--own", "--fidelity", "check", folder, racy, code=1)
    assert "race" in text and text.count("program.cu:") >= 2, text
    # Mistakes in the files are told with their lines, all of them, before anything else.
    toml = folder / "workload.toml"
    toml.write_text(toml.read_text().replace("[tolerance]", "[tolerence]").replace('["time"]', '["tyme"]'))
    (folder / "oracle.cpp").unlink()
    line = toml.read_text().splitlines().index("[tolerence]") + 1
    text = cuco("check", folder, code=1)
    assert f"workload.toml:{line}: unknown key: tolerence (did you mean tolerance)" in text, text
    assert "unknown use: tyme (did you mean time)" in text and "oracle.cpp: no such file" in text, text


def whole(folder):
    text = cuco("init", folder, "--from", SOURCE / "whole.cu", "--ranks", "1")
    mark = "not with an oracle"
    assert mark in text, text
    assert mark in cuco("check", folder)
    program = folder / "program.cu"
    text = cuco("judge", "--own", "--fidelity", "standard", folder, program)
    assert "as the seed" in text and mark in text, text
    assert "predicted" in text and "1.00 x the seed" in text, text
    other = folder / "other.cu"
    other.write_text(program.read_text().replace("FACTOR 1", "FACTOR 2"))
    answer = cuco("judge", "--own", "--json", "--fidelity", "quick", folder, other, code=1)
    assert json.loads(answer)["verdict"] == "different", answer
    # It runs in the sandbox: it does not get to see the file, and says so.
    secret = folder / "secret"
    secret.write_text("x")
    nosy = folder / "nosy.cu"
    nosy.write_text(program.read_text().replace("int main() {", f'int main() {{\n  if (std::fopen("{secret}", "r")) return 7;'))
    cuco("judge", "--own", "--fidelity", "quick", folder, nosy)


def whole_with_mpi(folder, source):
    """Headers of its own and MPI: what init finds out by itself and what it is told."""
    (source / "beside.h").write_text("constexpr int kCount = 64;\n")
    (source / "headers").mkdir()
    (source / "headers/away.h").write_text("#ifndef FACTOR\n#error no FACTOR\n#endif\n")
    given = source / "mpi.cu"
    given.write_text(MPI)
    cuco("init", folder, "--from", given, "--ranks", "2", "--include", source / "headers", "--nvcc=-DFACTOR=3")
    text = cuco("judge", "--own", "--fidelity", "quick", folder, folder / "program.cu")
    assert "as the seed: 2 device-to-host copies" in text, text
    other = folder / "other.cu"
    other.write_text(MPI.replace("FACTOR *", "1 + FACTOR *"))
    assert "differs" in cuco("judge", "--own", "--fidelity", "quick", folder, other, code=1)


with tempfile.TemporaryDirectory() as root:
    split(pathlib.Path(root) / "mine")
    whole(pathlib.Path(root) / "whole")
    other = pathlib.Path(root) / "source"
    other.mkdir()
    whole_with_mpi(pathlib.Path(root) / "mpi", other)
    if not pathlib.Path("/dev/nvidiactl").exists():  # in one line, and as what it is
        text = cuco("judge", "--own", "--on", "gpu", SOURCE / "../../../workloads/silu_and_mul",
                    SOURCE / "whole.cu", code=3)
        assert "no usable GPU" in text and text.count("\n") == 1, text
    assert "NOSUCH" in cuco("judge", "NOSUCH", SOURCE / "whole.cu", code=2)
print("init, check, judge: ok")
