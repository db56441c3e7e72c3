// SPDX-License-Identifier: Apache-2.0
// Recursive device functions with different depths per lane, and local arrays.
#include <utility>

#include "check.h"

__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ void permute(int* x, int n, int& count) {
  if (n == 1) {
    count += x[0] * 10 + x[2];
    return;
  }
  for (int i = 0; i < n; ++i) {
    permute(x, n - 1, count);
    const int j = n % 2 ? 0 : i;
    const int t = x[j];
    x[j] = x[n - 1];
    x[n - 1] = t;
  }
}

__host__ int host_ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? host_ackermann(m - 1, 1) : host_ackermann(m - 1, host_ackermann(m, n - 1)); }
__host__ void host_permute(int* x, int n, int& count) {
  if (n == 1) {
    count += x[0] * 10 + x[2];
    return;
  }
  for (int i = 0; i < n; ++i) {
    host_permute(x, n - 1, count);
    const int j = n % 2 ? 0 : i;
    std::swap(x[j], x[n - 1]);
  }
}

__global__ void recurse(int* out) {
  int x[5] = {1, 2, 3, 4, 5 + static_cast<int>(threadIdx.x)};
  int count = 0;
  permute(x, 3 + threadIdx.x % 3, count);
  out[threadIdx.x] = ackermann(2, threadIdx.x % 4) * 100000 + count;
}

int main() {
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
  Buffer<int> out(64);
  recurse<<<1, 64>>>(out.data);
  CHECK(cudaDeviceSynchronize());
  std::vector<int> expected(64);
  for (int t = 0; t < 64; ++t) {
    int x[5] = {1, 2, 3, 4, 5 + t}, count = 0;
    host_permute(x, 3 + t % 3, count);
    expected[t] = host_ackermann(2, t % 4) * 100000 + count;
  }
  return compare(out.host(), expected, 0);
}
