// SPDX-License-Identifier: Apache-2.0
// A ring of blocks: each waits for its left neighbour's flag, adds, and raises its own.
#include "check.h"

__global__ void ring(volatile int* flag, int* value, int rounds) {
  if (threadIdx.x != 0) return;
  const int blocks = gridDim.x, left = (blockIdx.x + blocks - 1) % blocks;
  for (int r = 1; r <= rounds; ++r) {
    const int want = blockIdx.x == 0 ? r - 1 : r;
    while (flag[left] < want) {
    }
    __threadfence();
    *value = *value * 3 % 1000003 + static_cast<int>(blockIdx.x);
    __threadfence();
    flag[blockIdx.x] = r;
  }
}

int main() {
  const int blocks = 12, rounds = 6;
  Buffer<int> flag(blocks), value(1);
  ring<<<blocks, 32>>>(flag.data, value.data, rounds);
  CHECK(cudaDeviceSynchronize());
  int expected = 0;
  for (int r = 0; r < rounds; ++r)
    for (int b = 0; b < blocks; ++b) expected = expected * 3 % 1000003 + b;
  return compare(value.host(), std::vector<int>{expected}, 0);
}
