// SPDX-License-Identifier: Apache-2.0
// One process per GPU (MPI). Every rank computes its slice of a vector, an in-place all-gather puts
// the slices together, and a second kernel reads the whole vector. Ten iterations, timed by events.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void make_slice(float* slice, int n, int first, int iteration) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) slice[i] = 0.5f * static_cast<float>((first + i) % 97) + static_cast<float>(iteration);
}

__global__ void smooth(const float* whole, float* out, int n, int total, int first) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int at = first + i;
  out[i] = 0.25f * whole[(at + total - 1) % total] + 0.5f * whole[at] + 0.25f * whole[(at + 1) % total];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);

  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);

  const int n = argc > 1 ? std::atoi(argv[1]) : 4096;
  const int total = n * ranks;
  float *whole, *out;
  cudaMalloc(&whole, total * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);

  const int iterations = 10;
  cudaEventRecord(begin, stream);
  for (int i = 0; i < iterations; ++i) {
    make_slice<<<(n + 255) / 256, 256, 0, stream>>>(whole + rank * n, n, rank * n, i);
    ncclAllGather(whole + rank * n, whole, n, ncclFloat, comm, stream);
    smooth<<<(n + 255) / 256, 256, 0, stream>>>(whole, out, n, total, rank * n);
  }
  cudaEventRecord(end, stream);
  std::vector<float> result(n);
  cudaMemcpyAsync(result.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, begin, end);

  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    auto at = [&](int k) { return 0.5f * static_cast<float>((k + total) % total % 97) + iterations - 1; };
    const int k = rank * n + i;
    wrong += std::fabs(result[i] - (0.25f * at(k - 1) + 0.5f * at(k) + 0.25f * at(k + 1))) > 1e-4f;
  }
  std::printf("rank %d: %s, %.1f us per iteration\n", rank, wrong ? "FAIL" : "PASS", 1e3f * milliseconds / iterations);
  ncclCommDestroy(comm);
  cudaFree(whole);
  cudaFree(out);
  MPI_Finalize();
  return wrong != 0;
}
