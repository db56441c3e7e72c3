// SPDX-License-Identifier: Apache-2.0
// Sums by shared memory, by shuffles, by redux and by atomics; the four must agree.
#include "check.h"

__global__ void by_shared(const int* in, int n, int* out) {
  __shared__ int part[256];
  int sum = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += in[i];
  part[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomicAdd(out, part[0]);
}

__global__ void by_shuffle(const int* in, int n, int* out) {
  int sum = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += in[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0U, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

__global__ void by_redux(const int* in, int n, int* out) {
  int sum = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += in[i];
  sum = __reduce_add_sync(~0U, sum);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

__global__ void by_atomics(const int* in, int n, int* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) atomicAdd(out, in[i]);
}

int main() {
  const int n = 10007;
  const auto in = random_ints(n, 14, 1000);
  Buffer<int> din(in), out(4);
  by_shared<<<5, 256>>>(din.data, n, out.data);
  by_shuffle<<<5, 256>>>(din.data, n, out.data + 1);
  by_redux<<<5, 256>>>(din.data, n, out.data + 2);
  by_atomics<<<(n + 255) / 256, 256>>>(din.data, n, out.data + 3);
  CHECK(cudaDeviceSynchronize());
  int sum = 0;
  for (const int x : in) sum += x;
  return compare(out.host(), std::vector<int>(4, sum), 0);
}
