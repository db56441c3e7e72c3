// SPDX-License-Identifier: Apache-2.0
// ranks: 3
// expect: three threads are done
#include <thread>
#include <vector>

#include "check.h"

__global__ void fill(int* p, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = value + i;
}

void work(int device, long long* sum) {
  OK(cudaSetDevice(device));
  const int n = 10000;
  int* p;
  OK(cudaMalloc(&p, n * 4));
  cudaStream_t s;
  OK(cudaStreamCreate(&s));
  std::vector<int> h(n);
  for (int round = 0; round < 5; ++round) {
    fill<<<(n + 127) / 128, 128, 0, s>>>(p, n, device * 1000 + round);
    OK(cudaMemcpyAsync(h.data(), p, n * 4, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    for (int v : h)
      *sum += v;
  }
  OK(cudaFree(p));
}

int main() {
  long long sums[3] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back(work, i, &sums[i]);
  for (auto& t : threads)
    t.join();
  const long long base = 5 * (10000LL * 9999 / 2) + 10 * 10000LL;
  for (int i = 0; i < 3; ++i)
    CHECK(sums[i] == base + 5 * 10000LL * i * 1000);
  std::puts("three threads are done");
}
