// SPDX-License-Identifier: Apache-2.0
// exit: 125
// stderr: deadlock
// stderr: wait_for_ever
// stderr: cudaDeviceSynchronize
#include "check.h"

__global__ void wait_for_ever(volatile int* flag) {
  while (*flag == 0) {
  }
}

int main() {
  int* flag;
  OK(cudaMalloc(&flag, 4));
  OK(cudaMemset(flag, 0, 4));
  wait_for_ever<<<1, 1>>>(flag);
  OK(cudaDeviceSynchronize());
}
