// SPDX-License-Identifier: Apache-2.0
// Data-parallel training: gradients come layer by layer, each bucket is all-reduced on a stream of
// its own behind an event, and the optimiser's step waits for all of them.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

#define CUDA(call)                                                                         \
  do {                                                                                     \
    cudaError_t error_ = (call);                                                           \
    if (error_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_)); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                        \
    }                                                                                      \
  } while (0)
#define NCCL(call)                                                                         \
  do {                                                                                     \
    ncclResult_t result_ = (call);                                                         \
    if (result_ != ncclSuccess) {                                                          \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, ncclGetErrorString(result_)); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                        \
    }                                                                                      \
  } while (0)

constexpr int kLayers = 4;

__global__ void backward(const float* weights, float* gradient, int n, float data) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) gradient[i] = (weights[i] - data) * 0.5f;
}

__global__ void sgd(float* weights, const float* gradient, int n, float rate) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) weights[i] -= rate * gradient[i];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CUDA(cudaSetDevice(rank));
  ncclUniqueId id;
  if (!rank) NCCL(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  NCCL(ncclCommInitRank(&comm, ranks, id, rank));

  const int n = 2048;
  float* weights[kLayers];
  float* gradients[kLayers];
  cudaEvent_t ready[kLayers];
  for (int layer = 0; layer < kLayers; ++layer) {
    CUDA(cudaMalloc(&weights[layer], n * sizeof(float)));
    CUDA(cudaMalloc(&gradients[layer], n * sizeof(float)));
    CUDA(cudaMemset(weights[layer], 0, n * sizeof(float)));
    CUDA(cudaEventCreateWithFlags(&ready[layer], cudaEventDisableTiming));
  }
  cudaStream_t compute, communicate;
  CUDA(cudaStreamCreate(&compute));
  CUDA(cudaStreamCreate(&communicate));
  cudaEvent_t reduced;
  CUDA(cudaEventCreateWithFlags(&reduced, cudaEventDisableTiming));
  CUDA(cudaDeviceSynchronize());

  for (int step = 0; step < 3; ++step) {
    for (int layer = kLayers - 1; layer >= 0; --layer) {
      backward<<<(n + 127) / 128, 128, 0, compute>>>(weights[layer], gradients[layer], n, 1.0f + rank);
      CUDA(cudaEventRecord(ready[layer], compute));
      CUDA(cudaStreamWaitEvent(communicate, ready[layer], 0));
      NCCL(ncclAllReduce(gradients[layer], gradients[layer], n, ncclFloat, ncclAvg, comm, communicate));
    }
    CUDA(cudaEventRecord(reduced, communicate));
    CUDA(cudaStreamWaitEvent(compute, reduced, 0));
    for (int layer = 0; layer < kLayers; ++layer)
      sgd<<<(n + 127) / 128, 128, 0, compute>>>(weights[layer], gradients[layer], n, 0.5f);
  }

  double expected = 0;
  const double mean = 1.0 + (ranks - 1) / 2.0;
  for (int step = 0; step < 3; ++step) expected -= 0.5 * (expected - mean) * 0.5;
  int wrong = 0;
  std::vector<float> host(n);
  for (int layer = 0; layer < kLayers; ++layer) {
    CUDA(cudaMemcpyAsync(host.data(), weights[layer], n * sizeof(float), cudaMemcpyDeviceToHost, compute));
    CUDA(cudaStreamSynchronize(compute));
    for (float w : host) wrong += std::fabs(w - expected) > 1e-5;
  }
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (int layer = 0; layer < kLayers; ++layer) {
    CUDA(cudaFree(weights[layer]));
    CUDA(cudaFree(gradients[layer]));
  }
  NCCL(ncclCommDestroy(comm));
  MPI_Finalize();
  return wrong ? 1 : 0;
}
