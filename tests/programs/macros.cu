// SPDX-License-Identifier: Apache-2.0
// Everything goes through macros: checks, launches, allocation, and the collective itself.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#define MUST(ok)                                          \
  do {                                                    \
    auto code_ = (ok);                                    \
    if (code_ != decltype(code_)(0)) {                    \
      std::fprintf(stderr, "%s failed: %d\n", #ok, code_); \
      std::exit(3);                                       \
    }                                                     \
  } while (0)
#define BLOCKS(n, per) (((n) + (per) - 1) / (per))
#define LAUNCH(kernel, n, stream, ...)                                \
  do {                                                                \
    kernel<<<BLOCKS(n, 128), 128, 0, (stream)>>>(__VA_ARGS__, (n));   \
    MUST(cudaGetLastError());                                         \
  } while (0)
#define ALLOCATE(pointer, count) MUST(cudaMalloc((void**)&(pointer), (count) * sizeof(*(pointer))))
#define GATHER_ALL(from, to, count) MUST(ncclAllGather((from), (to), (count), ncclFloat32, comm, stream))
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

__global__ void chunk_of(float* chunk, int rank, int step, int n) {
  int i = INDEX;
  if (i < n) chunk[i] = rank * 10.0f + step + i % 3;
}

__global__ void spread(const float* all, float* difference, int ranks, int n) {
  int i = INDEX;
  if (i >= n) return;
  float least = all[i], most = all[i];
  for (int r = 1; r < ranks; ++r) {
    least = fminf(least, all[r * n + i]);
    most = fmaxf(most, all[r * n + i]);
  }
  difference[i] = most - least;
}

int main(int argc, char** argv) {
  MUST(MPI_Init(&argc, &argv));
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MUST(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) MUST(ncclGetUniqueId(&id));
  MUST(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD));
  ncclComm_t comm;
  MUST(ncclCommInitRank(&comm, ranks, id, rank));
  cudaStream_t stream;
  MUST(cudaStreamCreate(&stream));

  const int n = 3000;
  float *chunk, *all, *difference;
  ALLOCATE(chunk, n);
  ALLOCATE(all, n * ranks);
  ALLOCATE(difference, n);
  for (int step = 0; step < 4; step++) {
    LAUNCH(chunk_of, n, stream, chunk, rank, step);
    GATHER_ALL(chunk, all, n);
    LAUNCH(spread, n, stream, all, difference, ranks);
  }
  float* host = static_cast<float*>(std::malloc(n * sizeof(float)));
  MUST(cudaMemcpyAsync(host, difference, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
  MUST(cudaStreamSynchronize(stream));
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += std::fabs(host[i] - 10.0f * (ranks - 1)) > 1e-3f;
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  std::free(host);
  MUST(cudaFree(chunk));
  MUST(cudaFree(all));
  MUST(cudaFree(difference));
  MUST(ncclCommDestroy(comm));
  MPI_Finalize();
  return wrong != 0;
}
