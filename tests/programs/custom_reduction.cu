// SPDX-License-Identifier: Apache-2.0
// A reduction that NCCL builds at run time: the sum of values that are multiplied by a factor of each
// rank before.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

__global__ void ramp(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = static_cast<float>(i % 33);
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
  const int n = 2048;
  float factor = 1.0f / static_cast<float>(rank + 1);
  ncclRedOp_t weighted;
  ncclRedOpCreatePreMulSum(&weighted, &factor, ncclFloat, ncclScalarHostImmediate, comm);
  float *x, *sum;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&sum, n * sizeof(float));
  for (int i = 0; i < 3; ++i) {
    ramp<<<n / 128, 128, 0, stream>>>(x, n);
    ncclAllReduce(x, sum, n, ncclFloat, weighted, comm, stream);
  }
  std::vector<float> host(n);
  cudaMemcpyAsync(host.data(), sum, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  double weight = 0;
  for (int r = 0; r < ranks; ++r) weight += 1.0 / (r + 1);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += std::fabs(host[i] - weight * (i % 33)) > 1e-3;
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  cudaFree(x);
  cudaFree(sum);
  ncclRedOpDestroy(weighted, comm);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
