// SPDX-License-Identifier: Apache-2.0
// expect: the grid met 10 times
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void rounds(int* counters, int* wrong, int blocks) {
  cg::grid_group grid = cg::this_grid();
  for (int round = 0; round < 10; ++round) {
    if (threadIdx.x == 0) atomicAdd(&counters[round], 1);
    grid.sync();
    if (threadIdx.x == 0 && *(volatile int*)&counters[round] != blocks) atomicAdd(wrong, 1);
  }
}

int main() {
  int *counters, *wrong, h = -1, blocks = 16;
  OK(cudaMalloc(&counters, 40));
  OK(cudaMalloc(&wrong, 4));
  OK(cudaMemset(counters, 0, 40));
  OK(cudaMemset(wrong, 0, 4));
  void* arguments[] = {&counters, &wrong, &blocks};
  OK(cudaLaunchCooperativeKernel((void*)rounds, dim3(blocks), dim3(64), arguments, 0, 0));
  OK(cudaMemcpy(&h, wrong, 4, cudaMemcpyDeviceToHost));
  CHECK(h == 0);
  FAILS(cudaErrorCooperativeLaunchTooLarge,
        cudaLaunchCooperativeKernel((void*)rounds, dim3(1000000), dim3(64), arguments, 0, 0));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(64);
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeCooperative;
  attribute[0].val.cooperative = 1;
  config.attrs = attribute;
  config.numAttrs = 1;
  OK(cudaMemset(counters, 0, 40));
  OK(cudaLaunchKernelEx(&config, rounds, counters, wrong, blocks));
  OK(cudaMemcpy(&h, wrong, 4, cudaMemcpyDeviceToHost));
  CHECK(h == 0);
  OK(cudaFree(counters));
  OK(cudaFree(wrong));
  std::puts("the grid met 10 times");
}
