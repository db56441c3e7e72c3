// SPDX-License-Identifier: Apache-2.0
// A prefix sum in one pass: blocks look back at their predecessors through flags in global memory.
#include "check.h"

constexpr int kBlock = 256;

__global__ void scan(const int* in, int* out, volatile int* total, volatile int* flag, int* ticket) {
  __shared__ int block, warp_sum[8], before;
  if (threadIdx.x == 0) block = atomicAdd(ticket, 1);
  __syncthreads();
  const int i = block * kBlock + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int x = in[i];
  for (int d = 1; d < 32; d *= 2) {
    const int y = __shfl_up_sync(~0U, x, d);
    if (lane >= d) x += y;
  }
  if (lane == 31) warp_sum[warp] = x;
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int w = 0; w < 8; ++w) {
      const int own = warp_sum[w];
      warp_sum[w] = sum;
      sum += own;
    }
    int prefix = 0;
    if (block > 0) {
      while (flag[block - 1] == 0) {
      }
      __threadfence();
      prefix = total[block - 1];
    }
    total[block] = prefix + sum;
    __threadfence();
    flag[block] = 1;
    before = prefix;
  }
  __syncthreads();
  out[i] = x + warp_sum[warp] + before;
}

int main() {
  const int blocks = 40, n = blocks * kBlock;
  const auto in = random_ints(n, 13, 100);
  Buffer<int> din(in), out(n), total(blocks), flag(blocks), ticket(1);
  scan<<<blocks, kBlock>>>(din.data, out.data, total.data, flag.data, ticket.data);
  CHECK(cudaDeviceSynchronize());
  std::vector<int> expected(n);
  for (int i = 0, sum = 0; i < n; ++i) expected[i] = sum += in[i];
  return compare(out.host(), expected, 0);
}
