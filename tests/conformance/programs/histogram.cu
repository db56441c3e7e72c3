// SPDX-License-Identifier: Apache-2.0
// A histogram with per-block bins in shared memory, and match.any to merge lanes that agree.
#include "check.h"

constexpr int kBins = 64;

__global__ void histogram(const int* in, int n, int* bins) {
  __shared__ int local[kBins];
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

__global__ void merged(const int* in, int n, int* bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned active = __ballot_sync(~0U, i < n);
  if (i >= n) return;
  const unsigned peers = __match_any_sync(active, in[i]);
  if (__ffs(peers) - 1 == threadIdx.x % 32) atomicAdd(&bins[in[i]], __popc(peers));
}

int main() {
  const int n = 20011;
  const auto in = random_ints(n, 17, kBins);
  Buffer<int> din(in), one(kBins), two(kBins);
  histogram<<<9, 256>>>(din.data, n, one.data);
  merged<<<(n + 255) / 256, 256>>>(din.data, n, two.data);
  CHECK(cudaDeviceSynchronize());
  std::vector<int> expected(kBins);
  for (const int x : in) ++expected[x];
  return compare(one.host(), expected, 0) + compare(two.host(), expected, 0);
}
