// SPDX-License-Identifier: Apache-2.0
// Matrices of odd sizes whose rows are gathered as soon as blocks have made them: some blocks are cut
// off at the edges, and threads return early. In the last step nobody makes anything: what is
// gathered then was there before.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <vector>

constexpr int kRows = 8, kColumns = 16;  // of a tile
constexpr int kShared = 100 << 10;       // so that an SM has room for two blocks

__global__ void make(const float* in, float* out, int m, int n, int step) {
  const int row = blockIdx.y * kRows + threadIdx.y, column = blockIdx.x * kColumns + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int k = 0; k < n; k += 40)
    sum += in[row * n + k];
  out[row * n + column] = sum + column + step;
}

__global__ void fill(float* in, int count, int rank) {
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    in[i] = (rank * 10 + i) % 23;
}

// What was gathered once is not there a second time.
__global__ void take(float* got, float* sum, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    sum[i] += got[i];
    got[i] = -1;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int devices = 1;
  cudaGetDeviceCount(&devices);
  cudaSetDevice(rank % devices);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  cudaStream_t stream;
  cudaStreamCreate(&stream);

  const int m = 37, n = 40, count = m * n;
  float *in, *out, *got, *sum;
  cudaMalloc(&in, count * sizeof(float));
  cudaMalloc(&out, count * sizeof(float));
  cudaMalloc(&got, ranks * count * sizeof(float));
  cudaMalloc(&sum, ranks * count * sizeof(float));
  cudaMemsetAsync(sum, 0, ranks * count * sizeof(float), stream);
  fill<<<1, 64, 0, stream>>>(in, count, rank);

  cudaFuncSetAttribute(make, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  const int steps = 4;
  for (int step = 0; step < steps; ++step) {
    const dim3 grid((n + kColumns - 1) / kColumns, (m + kRows - 1) / kRows);
    if (step < 3) make<<<grid, dim3(kColumns, kRows), kShared, stream>>>(in, out, m, n, step);
    ncclAllGather(out, got, count, ncclFloat, comm, stream);
    take<<<4, 64, 0, stream>>>(got, sum, ranks * count);
  }

  std::vector<float> host(ranks * count);
  cudaMemcpyAsync(host.data(), sum, host.size() * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  int wrong = 0;
  for (int p = 0; p < ranks; ++p) {
    for (int row = 0; row < m; ++row) {
      float rest = 0;
      for (int k = 0; k < n; k += 40)
        rest += static_cast<float>((p * 10 + row * n + k) % 23);
      for (int column = 0; column < n; ++column) {
        const float expected = 4 * (rest + static_cast<float>(column)) + 0 + 1 + 2 + 2;
        wrong += host[p * count + row * n + column] != expected;
      }
    }
  }
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (float* memory : {in, out, got, sum})
    cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
