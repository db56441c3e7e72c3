// SPDX-License-Identifier: Apache-2.0
// Memory comes from ncclMemAlloc and is registered, as NCCL advises; the collectives are still called
// by the host. The time is taken with std::chrono around a loop.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <chrono>
#include <cstdio>
#include <vector>

__global__ void contribute(float* values, int n, int rank, int step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = static_cast<float>(i % 21 + rank * step);
}

__global__ void square(const float* sum, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = sum[i] * sum[i];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  cudaStream_t stream;
  cudaStreamCreate(&stream);

  const int n = 4096, steps = 6;
  const size_t bytes = n * sizeof(float);
  float *values, *sum, *out;
  ncclMemAlloc(reinterpret_cast<void**>(&values), bytes);
  ncclMemAlloc(reinterpret_cast<void**>(&sum), bytes);
  cudaMalloc(&out, bytes);
  ncclWindow_t values_window, sum_window;
  ncclCommWindowRegister(comm, values, bytes, &values_window, NCCL_WIN_COLL_SYMMETRIC);
  ncclCommWindowRegister(comm, sum, bytes, &sum_window, NCCL_WIN_COLL_SYMMETRIC);

  const auto begin = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    contribute<<<n / 256, 256, 0, stream>>>(values, n, rank, step);
    ncclAllReduce(values, sum, n, ncclFloat, ncclSum, comm, stream);
    square<<<n / 256, 256, 0, stream>>>(sum, out, n);
  }
  cudaStreamSynchronize(stream);
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - begin;

  std::vector<float> host(n);
  cudaMemcpy(host.data(), out, bytes, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    const float sum = static_cast<float>(ranks * (i % 21) + (steps - 1) * ranks * (ranks - 1) / 2);
    wrong += host[i] != sum * sum;
  }
  std::printf("rank %d: %s (%.1f us)\n", rank, wrong ? "FAIL" : "PASS", elapsed.count() / steps);
  ncclCommWindowDeregister(comm, values_window);
  ncclCommWindowDeregister(comm, sum_window);
  cudaFree(out);
  ncclMemFree(values);
  ncclMemFree(sum);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
