// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>
#include <cmath>
#include <cstdio>
#include <vector>
#include "comm.hpp"
#include "kernels.hpp"
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  cudaSetDevice(rank);
  std::vector<char> id(comm_id_size());
  if (rank == 0) comm_id(id.data());
  MPI_Bcast(id.data(), (int)id.size(), MPI_CHAR, 0, MPI_COMM_WORLD);
  CommHandle* comm = comm_open(rank, size, id.data());
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  const int n = 900;
  float *w, *a, *all;
  cudaMalloc((void**)&w, n * sizeof(float));
  cudaMalloc((void**)&a, n * sizeof(float));
  cudaMalloc((void**)&all, n * size * sizeof(float));
  std::vector<float> h(n);
  for (int i = 0; i < n; ++i) h[i] = (float)(rank + i % 7);
  cudaMemcpy(w, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  for (int it = 0; it < 4; ++it) {
    forward(w, a, n, stream);
    allreduce_mean(comm, a, n, stream);
    update(w, a, n, 0.1f, stream);
  }
  gather_all(comm, w, all, n, stream);
  std::vector<float> got(n * size);
  cudaMemcpyAsync(got.data(), all, got.size() * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  bool ok = true;
  for (int i = 0; i < n; ++i) {
    std::vector<float> v(size);
    for (int r = 0; r < size; ++r) v[r] = (float)(r + i % 7);
    for (int it = 0; it < 4; ++it) {
      float m = 0;
      for (float x : v) m += x * 2 + 1;
      m /= size;
      for (float& x : v) x -= 0.1f * m;
    }
    for (int r = 0; r < size; ++r) ok = ok && std::fabs(got[r * n + i] - v[r]) < 1e-3f;
  }
  cudaFree(w); cudaFree(a); cudaFree(all);
  cudaStreamDestroy(stream);
  comm_close(comm);
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  MPI_Finalize();
  return !ok;
}
