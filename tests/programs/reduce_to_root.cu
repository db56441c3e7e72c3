// SPDX-License-Identifier: Apache-2.0
// A maximum over all ranks that only the last rank needs: ncclReduce with a root that is not 0, and a
// kernel that only the root launches. Doubles.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <thread>
#include <vector>

__global__ void candidates(double* values, int n, int rank, int iteration) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = static_cast<double>((i * 31 + rank * 17 + iteration * 5) % 101);
}

__global__ void keep(const double* best, double* log, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) log[i] += best[i];
}

static void run(int rank, int ranks, ncclComm_t comm, int* wrong) {
  const int n = 1200, iterations = 5, root = ranks - 1;
  cudaSetDevice(rank);
  cudaStream_t s;
  cudaStreamCreate(&s);
  double *values = nullptr, *best = nullptr, *log = nullptr;
  cudaMalloc(&values, n * sizeof(double));
  if (rank == root) {
    cudaMalloc(&best, n * sizeof(double));
    cudaMalloc(&log, n * sizeof(double));
    cudaMemsetAsync(log, 0, n * sizeof(double), s);
  }
  for (int i = 0; i < iterations; i++) {
    candidates<<<(n + 63) / 64, 64, 0, s>>>(values, n, rank, i);
    ncclReduce(values, best, n, ncclDouble, ncclMax, root, comm, s);
    if (rank == root) keep<<<(n + 63) / 64, 64, 0, s>>>(best, log, n);
  }
  if (rank == root) {
    std::vector<double> host(n);
    cudaMemcpyAsync(host.data(), log, n * sizeof(double), cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    for (int k = 0; k < n; ++k) {
      double expected = 0;
      for (int i = 0; i < iterations; ++i) {
        int most = 0;
        for (int r = 0; r < ranks; ++r) most = std::max(most, (k * 31 + r * 17 + i * 5) % 101);
        expected += most;
      }
      *wrong += host[k] != expected;
    }
  }
  cudaStreamSynchronize(s);
  cudaFree(values);
  cudaFree(best);
  cudaFree(log);
}

int main() {
  int gpus;
  cudaGetDeviceCount(&gpus);
  std::vector<ncclComm_t> comms(gpus);
  ncclCommInitAll(comms.data(), gpus, nullptr);
  std::vector<int> wrong(gpus);
  std::vector<std::thread> threads;
  for (int r = 0; r < gpus; ++r) threads.emplace_back(run, r, gpus, comms[r], &wrong[r]);
  for (auto& t : threads) t.join();
  int all = 0;
  for (int w : wrong) all += w;
  for (auto c : comms) ncclCommDestroy(c);
  std::puts(all ? "FAIL" : "PASS");
  return all != 0;
}
