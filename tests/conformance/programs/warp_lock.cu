// SPDX-License-Identifier: Apache-2.0
// Every thread takes one spin lock: lanes of a warp must not starve the lane that holds it.
#include "check.h"

__global__ void count(int* lock, int* value) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  *reinterpret_cast<volatile int*>(value) = *reinterpret_cast<volatile int*>(value) + 1;
  __threadfence();
  atomicExch(lock, 0);
}

int main() {
  Buffer<int> lock(1), value(1);
  count<<<4, 64>>>(lock.data, value.data);
  CHECK(cudaDeviceSynchronize());
  return compare(value.host(), std::vector<int>{256}, 0);
}
