// SPDX-License-Identifier: Apache-2.0
// expect: before
// expect: thread 0 of block 0: 1.50 text
// expect: thread 1 of block 0: 2.50 text
// expect: after
#include "check.h"

__global__ void speak() {
  printf("thread %d of block %d: %.2f %s\n", threadIdx.x, blockIdx.x, threadIdx.x + 1.5, "text");
}

int main() {
  std::puts("before");
  speak<<<1, 2>>>();
  OK(cudaDeviceSynchronize());
  std::puts("after");
}
