// SPDX-License-Identifier: Apache-2.0
// Power iteration: a vector is divided by its norm over all ranks. The all-reduce moves one float,
// so latency is all that counts.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

__global__ void square_sum(const float* x, float* sum, int n) {
  __shared__ float partial[256];
  float mine = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine += x[i] * x[i];
  partial[threadIdx.x] = mine;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *sum = partial[0];
}

__global__ void multiply(float* x, const float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2.0f * rsqrtf(*sum);
}

static void iterate(float* x, float* sum, int n, ncclComm_t comm, cudaStream_t stream) {
  square_sum<<<1, 256, 0, stream>>>(x, sum, n);
  ncclAllReduce(sum, sum, 1, ncclFloat, ncclSum, comm, stream);
  multiply<<<(n + 255) / 256, 256, 0, stream>>>(x, sum, n);
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

  const int n = 2000;
  std::vector<float> host(n);
  for (int i = 0; i < n; ++i) host[i] = static_cast<float>((i + rank) % 7);
  float *x = nullptr, *sum = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&x), n * sizeof(float));
  cudaMalloc(reinterpret_cast<void**>(&sum), sizeof(float));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMemcpyAsync(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream);
  const double start = MPI_Wtime();
  for (int i = 0; i < 6; ++i) iterate(x, sum, n, comm, stream);
  cudaStreamSynchronize(stream);
  const double seconds = MPI_Wtime() - start;
  cudaMemcpy(host.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost);

  double squares = 0, all = 0;
  for (float v : host) squares += static_cast<double>(v) * v;
  MPI_Allreduce(&squares, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const bool right = std::fabs(std::sqrt(all) - 2.0) < 1e-3;
  std::printf("rank %d: %s (%.1f us)\n", rank, right ? "PASS" : "FAIL", 1e6 * seconds / 6);
  cudaFree(x);
  cudaFree(sum);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return right ? 0 : 1;
}
