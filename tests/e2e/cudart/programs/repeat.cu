// SPDX-License-Identifier: Apache-2.0
// ranks: 3
// expect: times are printed on standard error
#include <thread>
#include <vector>

#include "check.h"

__global__ void work(float* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * 1.5f + i;
}

int main() {
  float times[3] = {};
  void* addresses[3] = {};
  std::vector<std::thread> threads;
  for (int device = 0; device < 3; ++device) {
    threads.emplace_back([&, device] {
      OK(cudaSetDevice(device));
      const int n = 50000 + 1000 * device;
      float* p;
      OK(cudaMalloc(&p, n * 4));
      OK(cudaMemset(p, 0, n * 4));
      cudaEvent_t start, end;
      OK(cudaEventCreate(&start));
      OK(cudaEventCreate(&end));
      OK(cudaEventRecord(start));
      for (int i = 0; i < 10; ++i)
        work<<<(n + 255) / 256, 256>>>(p, n);
      OK(cudaEventRecord(end));
      OK(cudaEventSynchronize(end));
      OK(cudaEventElapsedTime(&times[device], start, end));
      OK(cudaFree(p));
      addresses[device] = p;
    });
  }
  for (auto& thread : threads)
    thread.join();
  for (int i = 0; i < 3; ++i)
    std::fprintf(stderr, "%p %.9f\n", addresses[i], times[i]);
  std::puts("times are printed on standard error");
}
