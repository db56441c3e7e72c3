// SPDX-License-Identifier: Apache-2.0
// A grid of ranks with two communicators made by ncclCommSplit: sums along rows, then an all-gather
// along columns. With an odd number of ranks the grid has one row.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

__global__ void start(float* tile, int n, int rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) tile[i] = static_cast<float>(rank + 1) * static_cast<float>(i % 10);
}

__global__ void add_one(float* tile, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) tile[i] += 1.0f;
}

__global__ void weigh(const float* column, float* out, int n, int height) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int r = 0; r < height; ++r) sum += column[r * n + i] * static_cast<float>(r + 1);
  out[i] = sum;
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
  ncclComm_t world, row, column;
  ncclCommInitRank(&world, ranks, id, rank);
  const int height = ranks % 2 == 0 ? 2 : 1, width = ranks / height;
  ncclCommSplit(world, rank / width, rank % width, &row, nullptr);
  ncclCommSplit(world, rank % width, rank / width, &column, nullptr);
  cudaStream_t stream;
  cudaStreamCreate(&stream);

  const int n = 2000, blocks = (n + 127) / 128;
  float *tile, *both, *out;
  cudaMalloc(&tile, n * sizeof(float));
  cudaMalloc(&both, n * height * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  for (int i = 0; i < 4; ++i) {
    start<<<blocks, 128, 0, stream>>>(tile, n, rank);
    ncclAllReduce(tile, tile, n, ncclFloat, ncclSum, row, stream);
    add_one<<<blocks, 128, 0, stream>>>(tile, n);
    ncclAllGather(tile, both, n, ncclFloat, column, stream);
    weigh<<<blocks, 128, 0, stream>>>(both, out, n, height);
  }
  std::vector<float> host(n);
  cudaMemcpyAsync(host.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    float expected = 0;
    for (int r = 0; r < height; ++r) {
      float sum = 1;
      for (int c = 0; c < width; ++c) sum += static_cast<float>(r * width + c + 1) * static_cast<float>(i % 10);
      expected += sum * static_cast<float>(r + 1);
    }
    wrong += std::fabs(host[i] - expected) > 1e-3f * (1 + expected);
  }
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (float* memory : {tile, both, out}) cudaFree(memory);
  ncclCommDestroy(row);
  ncclCommDestroy(column);
  ncclCommDestroy(world);
  MPI_Finalize();
  return wrong != 0;
}
