// SPDX-License-Identifier: Apache-2.0
// Local SGD: ranks average their models in every fourth step only, and which all-reduce is called
// depends on an option. The condition is the same on all ranks.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

__global__ void local_step(float* model, int n, float target, float rate) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) model[i] += rate * (target - model[i]);
}

__global__ void divide(float* model, int n, float by) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) model[i] /= by;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  const bool average = argc < 2 || std::strcmp(argv[1], "sum") != 0;
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  cudaStream_t stream;
  cudaStreamCreate(&stream);

  const int n = 4000, steps = 12, period = 4;
  float* model;
  cudaMalloc(&model, n * sizeof(float));
  cudaMemsetAsync(model, 0, n * sizeof(float), stream);
  for (int step = 1; step <= steps; ++step) {
    local_step<<<16, 128, 0, stream>>>(model, n, static_cast<float>(rank + 1), 0.25f);
    if (step % period == 0) {
      if (average) {
        ncclAllReduce(model, model, n, ncclFloat, ncclAvg, comm, stream);
      } else {
        ncclAllReduce(model, model, n, ncclFloat, ncclSum, comm, stream);
        divide<<<16, 128, 0, stream>>>(model, n, static_cast<float>(ranks));
      }
    }
  }
  std::vector<float> host(n);
  cudaMemcpyAsync(host.data(), model, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);

  std::vector<double> expected(ranks);
  for (int step = 1; step <= steps; ++step) {
    double sum = 0;
    for (int r = 0; r < ranks; ++r) sum += expected[r] += 0.25 * (r + 1 - expected[r]);
    if (step % period == 0)
      for (double& e : expected) e = sum / ranks;
  }
  int wrong = 0;
  for (float v : host) wrong += std::fabs(v - expected[rank]) > 1e-4;
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  cudaFree(model);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
