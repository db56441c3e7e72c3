// SPDX-License-Identifier: Apache-2.0
// A ring: in each step the block of keys that is here is used while it is sent on to the right and
// the next one comes from the left. Two buffers that change roles, two streams, events.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

__global__ void attend(const float* queries, const float* keys, float* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = sums[i];
  for (int k = 0; k < 32; ++k) sum += queries[i] * keys[(i + k) % n];
  sums[i] = sum;
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

  const int n = 2048;
  const size_t bytes = n * sizeof(float);
  std::vector<float> queries(n), keys(n);
  for (int i = 0; i < n; ++i) {
    queries[i] = static_cast<float>(i % 3) + 1;
    keys[i] = static_cast<float>((i + rank) % 5);
  }
  float *q, *here, *there, *sums;
  for (float** memory : {&q, &here, &there, &sums}) cudaMalloc(memory, bytes);
  cudaStream_t compute, copy;
  cudaStreamCreate(&compute);
  cudaStreamCreate(&copy);
  cudaEvent_t used, arrived;
  cudaEventCreate(&used);
  cudaEventCreate(&arrived);
  cudaMemcpy(q, queries.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(here, keys.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemset(sums, 0, bytes);
  cudaDeviceSynchronize();

  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  for (int step = 0; step < ranks; ++step) {
    if (step + 1 < ranks) {
      ncclGroupStart();
      ncclSend(here, n, ncclFloat, right, comm, copy);
      ncclRecv(there, n, ncclFloat, left, comm, copy);
      ncclGroupEnd();
      cudaEventRecord(arrived, copy);
    }
    attend<<<n / 128, 128, 0, compute>>>(q, here, sums, n);
    cudaEventRecord(used, compute);
    cudaStreamWaitEvent(copy, used, 0);
    cudaStreamWaitEvent(compute, arrived, 0);
    std::swap(here, there);
  }
  std::vector<float> result(n);
  cudaMemcpyAsync(result.data(), sums, bytes, cudaMemcpyDeviceToHost, compute);
  cudaStreamSynchronize(compute);
  cudaStreamSynchronize(copy);

  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    float expected = 0;
    for (int r = 0; r < ranks; ++r)
      for (int k = 0; k < 32; ++k) expected += queries[i] * static_cast<float>(((i + k) % n + r) % 5);
    wrong += std::fabs(result[i] - expected) > 1e-3f;
  }
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (float* memory : {q, here, there, sums}) cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
