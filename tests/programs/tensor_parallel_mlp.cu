// SPDX-License-Identifier: Apache-2.0
// A tensor-parallel MLP: the first product is split by columns, the second by rows, and an all-reduce
// adds the partial results. Tiled products in shared memory, several layers with the same weights.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

constexpr int kTile = 16;

// c[m x n] = a[m x k] * b[k x n], ReLU if wanted.
__global__ void matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k,
                       bool relu) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < k; t += kTile) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * k + t + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = relu ? fmaxf(sum, 0.0f) : sum;
}

__global__ void add_residual(float* x, const float* delta, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 0.1f * delta[i];
}

struct Mlp {
  int tokens, width, hidden;  // hidden: this rank's part
  float *up, *down, *inner, *delta;
  ncclComm_t comm;
  cudaStream_t stream;
};

static void forward(const Mlp& mlp, float* x) {
  const dim3 block(kTile, kTile);
  matmul<<<dim3(mlp.hidden / kTile, mlp.tokens / kTile), block, 0, mlp.stream>>>(x, mlp.up, mlp.inner, mlp.tokens, mlp.hidden, mlp.width, true);
  matmul<<<dim3(mlp.width / kTile, mlp.tokens / kTile), block, 0, mlp.stream>>>(mlp.inner, mlp.down, mlp.delta, mlp.tokens, mlp.width, mlp.hidden, false);
  ncclAllReduce(mlp.delta, mlp.delta, static_cast<size_t>(mlp.tokens) * mlp.width, ncclFloat, ncclSum, mlp.comm, mlp.stream);
  add_residual<<<mlp.tokens * mlp.width / 128, 128, 0, mlp.stream>>>(x, mlp.delta, mlp.tokens * mlp.width);
}

static float weight(int i, int j) { return static_cast<float>((i * 13 + j * 7) % 9 - 4) * 0.05f; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  Mlp mlp{32, 64, 32, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
  ncclCommInitRank(&mlp.comm, ranks, id, rank);
  cudaStreamCreate(&mlp.stream);

  const int hidden = mlp.hidden * ranks, layers = 3;
  std::vector<float> up(mlp.width * mlp.hidden), down(mlp.hidden * mlp.width), x(mlp.tokens * mlp.width);
  for (int i = 0; i < mlp.width; ++i)
    for (int j = 0; j < mlp.hidden; ++j) {
      up[i * mlp.hidden + j] = weight(i, rank * mlp.hidden + j);
      down[j * mlp.width + i] = weight(rank * mlp.hidden + j, i);
    }
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 11) * 0.1f;
  float* device_x;
  cudaMalloc(&mlp.up, up.size() * sizeof(float));
  cudaMalloc(&mlp.down, down.size() * sizeof(float));
  cudaMalloc(&mlp.inner, sizeof(float) * mlp.tokens * mlp.hidden);
  cudaMalloc(&mlp.delta, x.size() * sizeof(float));
  cudaMalloc(&device_x, x.size() * sizeof(float));
  cudaMemcpyAsync(mlp.up, up.data(), up.size() * sizeof(float), cudaMemcpyHostToDevice, mlp.stream);
  cudaMemcpyAsync(mlp.down, down.data(), down.size() * sizeof(float), cudaMemcpyHostToDevice, mlp.stream);
  cudaMemcpyAsync(device_x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice, mlp.stream);
  cudaStreamSynchronize(mlp.stream);

  for (int i = 0; i < layers; ++i) forward(mlp, device_x);
  std::vector<float> result(x.size());
  cudaMemcpyAsync(result.data(), device_x, x.size() * sizeof(float), cudaMemcpyDeviceToHost, mlp.stream);
  cudaStreamSynchronize(mlp.stream);

  std::vector<float> inner(hidden);
  for (int layer = 0; layer < layers; ++layer) {
    for (int t = 0; t < mlp.tokens; ++t) {
      float* row = &x[t * mlp.width];
      for (int j = 0; j < hidden; ++j) {
        float sum = 0;
        for (int i = 0; i < mlp.width; ++i) sum += row[i] * weight(i, j);
        inner[j] = std::max(sum, 0.0f);
      }
      for (int i = 0; i < mlp.width; ++i) {
        float sum = 0;
        for (int j = 0; j < hidden; ++j) sum += inner[j] * weight(j, i);
        row[i] += 0.1f * sum;
      }
    }
  }
  int wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) wrong += std::fabs(result[i] - x[i]) > 1e-3f * (1 + std::fabs(x[i]));
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (float* memory : {mlp.up, mlp.down, mlp.inner, mlp.delta, device_x}) cudaFree(memory);
  ncclCommDestroy(mlp.comm);
  MPI_Finalize();
  return wrong != 0;
}
