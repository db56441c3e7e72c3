// SPDX-License-Identifier: Apache-2.0
// The iteration is captured once, collective included, and replayed.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

__global__ void advance(float* state, float* partial, int n, int rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  state[i] += 1.0f;
  partial[i] = state[i] * static_cast<float>(rank + 1);
}

__global__ void feed_back(float* state, const float* sum, int n, float inverse) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) state[i] = 0.5f * state[i] + 0.1f * sum[i] * inverse;
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

  const int n = 3072, replays = 7;
  float *state, *partial, *sum;
  cudaMalloc(&state, n * sizeof(float));
  cudaMalloc(&partial, n * sizeof(float));
  cudaMalloc(&sum, n * sizeof(float));
  cudaMemsetAsync(state, 0, n * sizeof(float), stream);

  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  advance<<<n / 256, 256, 0, stream>>>(state, partial, n, rank);
  ncclAllReduce(partial, sum, n, ncclFloat, ncclSum, comm, stream);
  feed_back<<<n / 256, 256, 0, stream>>>(state, sum, n, 1.0f / ranks);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  for (int i = 0; i < replays; ++i) cudaGraphLaunch(executable, stream);

  std::vector<float> host(n);
  cudaMemcpyAsync(host.data(), state, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  std::vector<double> expected(ranks);
  for (int i = 0; i < replays; ++i) {
    double total = 0;
    for (int r = 0; r < ranks; ++r) total += (expected[r] += 1.0) * (r + 1);
    for (int r = 0; r < ranks; ++r) expected[r] = 0.5 * expected[r] + 0.1 * total / ranks;
  }
  int wrong = 0;
  for (float v : host) wrong += std::fabs(v - expected[rank]) > 1e-4;
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  for (float* memory : {state, partial, sum}) cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
