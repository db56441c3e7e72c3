// SPDX-License-Identifier: Apache-2.0
// One block produces, the others wait for its flag and read. Right only if the producer's stores
// are ordered before the flag (-DFENCE).
#include <cstdio>

__global__ void pass(int* data, int* flag, int* out) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = 100 + static_cast<int>(threadIdx.x);
#ifdef FENCE
    __threadfence();
#endif
    __syncthreads();
    if (threadIdx.x == 0) *reinterpret_cast<volatile int*>(flag) = 1;
    return;
  }
  if (threadIdx.x == 0) {
    while (*reinterpret_cast<volatile int*>(flag) == 0) {
    }
#ifdef FENCE
    __threadfence();
#endif
  }
  __syncthreads();
  out[(blockIdx.x - 1) * blockDim.x + threadIdx.x] = data[threadIdx.x];
}

int main() {
  constexpr int kThreads = 64;
  constexpr int kReaders = 8;
  int* memory = nullptr;
  cudaMalloc(&memory, (kThreads * (kReaders + 1) + 64) * sizeof(int));
  cudaMemset(memory, 0, (kThreads * (kReaders + 1) + 64) * sizeof(int));
  int* flag = memory + kThreads;
  int* out = flag + 64;
  pass<<<kReaders + 1, kThreads>>>(memory, flag, out);
  int host[kThreads * kReaders];
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < kThreads * kReaders; ++i)
    wrong += host[i] != 100 + i % kThreads;
  std::printf("%s\n", wrong == 0 ? "right" : "wrong");
  return 0;
}
