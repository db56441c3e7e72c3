// SPDX-License-Identifier: Apache-2.0
// expect: the host saw 123
#include "check.h"

__global__ void publish(volatile int* flag, int value) {
  const long long start = clock64();
  while (clock64() - start < 10000) {
  }
  *flag = value;
}

int main() {
  int* flag;
  OK(cudaHostAlloc(&flag, 4, cudaHostAllocMapped));
  *flag = 0;
  publish<<<1, 1>>>(flag, 123);
  while (*(volatile int*)flag == 0) {  // no call in between: the server has to notice
  }
  std::printf("the host saw %d\n", *flag);
  OK(cudaDeviceSynchronize());
  OK(cudaFreeHost(flag));
}
