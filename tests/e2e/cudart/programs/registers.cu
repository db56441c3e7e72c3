// SPDX-License-Identifier: Apache-2.0
// expect: few: 8 blocks
// expect: many: 2 blocks, 128 registers
// Registers are those that ptxas found: 256 threads of 128 registers leave room for two blocks.
#include "check.h"

__global__ void few(int* out) {
  out[threadIdx.x] = 1;
}

/// The bound on threads and blocks makes ptxas stop at 128 registers.
__global__ void __launch_bounds__(256, 2) many(float* data) {
  constexpr int kValues = 140;
  float values[kValues];
  for (int i = 0; i < kValues; ++i)
    values[i] = data[i * 32 + threadIdx.x];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kValues; ++i)
      values[i] = values[i] * values[(i + 7) % kValues] + data[round];
  }
  float sum = 0;
  for (int i = 0; i < kValues; ++i)
    sum += values[i] * i;
  data[threadIdx.x] = sum;
}

int main() {
  int blocks = 0;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, few, 256, 0));
  std::printf("few: %d blocks\n", blocks);
  cudaFuncAttributes attributes{};
  OK(cudaFuncGetAttributes(&attributes, many));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, many, 256, 0));
  std::printf("many: %d blocks, %d registers\n", blocks, attributes.numRegs);
}
