// SPDX-License-Identifier: Apache-2.0
// A 32x32-tiled matrix product in shared memory.
#include "check.h"

__global__ void gemm(const float* a, const float* b, float* c, int n) {
  __shared__ float sa[32][32], sb[32][32];
  const int row = blockIdx.y * 32 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 32) {
    sa[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    sb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
    __syncthreads();
    for (int i = 0; i < 32; ++i) sum += sa[threadIdx.y][i] * sb[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

int main() {
  const int n = 128;
  const auto a = random_floats(n * n, 1), b = random_floats(n * n, 2);
  Buffer<float> da(a), db(b), dc(n * n);
  gemm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(da.data, db.data, dc.data, n);
  CHECK(cudaDeviceSynchronize());
  return compare(dc.host(), reference_gemm(a, b, n, n, n), 1e-5);
}
