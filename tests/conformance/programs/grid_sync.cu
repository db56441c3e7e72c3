// SPDX-License-Identifier: Apache-2.0
// Cooperative groups: a grid-wide barrier between the phases of a sum.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void phases(int* data, int* total, int n) {
  const cg::grid_group grid = cg::this_grid();
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  for (int round = 0; round < 5; ++round) {
    for (unsigned i = grid.thread_rank(); i < n; i += grid.size()) data[i] += data[(i + 1) % n] * 0 + static_cast<int>(i);
    grid.sync();
    int sum = 0;
    for (unsigned i = grid.thread_rank(); i < n; i += grid.size()) sum += data[n - 1 - i];
    sum = cg::reduce(warp, sum, cg::plus<int>());
    if (warp.thread_rank() == 0) atomicAdd(&total[round], sum);
    grid.sync();
  }
}

int main() {
  int n = 3000;
  Buffer<int> data(n), total(5);
  int blocks = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, phases, 128, 0));
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  if (!properties.cooperativeLaunch || blocks < 1) return verdict(false, "cooperative launch");
  void* arguments[] = {&data.data, &total.data, &n};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(phases), 20, 128, arguments));
  CHECK(cudaDeviceSynchronize());
  std::vector<int> expected(5);
  for (int round = 0; round < 5; ++round) expected[round] = (round + 1) * (n * (n - 1) / 2);
  return compare(total.host(), expected, 0);
}
