// SPDX-License-Identifier: Apache-2.0
// Jacobi iteration on rows: each rank has a strip with one row of halo on both sides. Neighbours
// exchange edge rows before every sweep; the first and the last rank have one neighbour only.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

constexpr int kWidth = 128, kRows = 16;

__global__ void sweep(const float* from, float* to, bool top, bool bottom) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y + 1;
  const int at = y * kWidth + x;
  const bool edge = x == 0 || x == kWidth - 1 || (top && y == 1) || (bottom && y == kRows);
  to[at] = edge ? from[at] : 0.25f * (from[at - 1] + from[at + 1] + from[at - kWidth] + from[at + kWidth]);
}

struct Strip {
  float* now;
  float* next;
};

static void exchange(Strip& strip, int rank, int ranks, ncclComm_t comm, cudaStream_t stream) {
  ncclGroupStart();
  if (rank > 0) {
    ncclSend(strip.now + kWidth, kWidth, ncclFloat, rank - 1, comm, stream);
    ncclRecv(strip.now, kWidth, ncclFloat, rank - 1, comm, stream);
  }
  if (rank < ranks - 1) {
    ncclSend(strip.now + kRows * kWidth, kWidth, ncclFloat, rank + 1, comm, stream);
    ncclRecv(strip.now + (kRows + 1) * kWidth, kWidth, ncclFloat, rank + 1, comm, stream);
  }
  ncclGroupEnd();
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

  const int height = kRows * ranks, sweeps = 12;
  std::vector<float> grid(static_cast<size_t>(height) * kWidth), next;
  for (int i = 0; i < height * kWidth; ++i) grid[i] = static_cast<float>(i * 37 % 101);
  const size_t bytes = sizeof(float) * kWidth * (kRows + 2);
  Strip strip;
  cudaMalloc(&strip.now, bytes);
  cudaMalloc(&strip.next, bytes);
  cudaMemsetAsync(strip.now, 0, bytes, stream);
  cudaMemsetAsync(strip.next, 0, bytes, stream);
  cudaMemcpyAsync(strip.now + kWidth, &grid[static_cast<size_t>(rank) * kRows * kWidth], sizeof(float) * kWidth * kRows,
                  cudaMemcpyHostToDevice, stream);
  for (int i = 0; i < sweeps; ++i) {
    exchange(strip, rank, ranks, comm, stream);
    sweep<<<dim3(1, kRows), kWidth, 0, stream>>>(strip.now, strip.next, rank == 0, rank == ranks - 1);
    std::swap(strip.now, strip.next);
  }
  std::vector<float> result(kWidth * kRows);
  cudaMemcpyAsync(result.data(), strip.now + kWidth, result.size() * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);

  for (int i = 0; i < sweeps; ++i) {
    next = grid;
    for (int y = 1; y < height - 1; ++y)
      for (int x = 1; x < kWidth - 1; ++x)
        next[y * kWidth + x] = 0.25f * (grid[y * kWidth + x - 1] + grid[y * kWidth + x + 1] + grid[(y - 1) * kWidth + x] +
                                        grid[(y + 1) * kWidth + x]);
    grid.swap(next);
  }
  int wrong = 0;
  for (size_t i = 0; i < result.size(); ++i) wrong += std::fabs(result[i] - grid[rank * kRows * kWidth + i]) > 1e-3f;
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  cudaFree(strip.now);
  cudaFree(strip.next);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
