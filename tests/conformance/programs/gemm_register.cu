// SPDX-License-Identifier: Apache-2.0
// A register-blocked matrix product: 64x64 tiles, 4x4 results per thread, float4 loads.
#include "check.h"

constexpr int kTile = 64, kDepth = 16;

__global__ void gemm(const float* a, const float* b, float* c, int n) {
  __shared__ float sa[kDepth][kTile], sb[kDepth][kTile];
  const int t = threadIdx.x, tx = t % 16, ty = t / 16;
  const float* pa = a + blockIdx.y * kTile * n;
  const float* pb = b + blockIdx.x * kTile;
  float sum[4][4] = {};
  for (int k = 0; k < n; k += kDepth) {
    const float4 va = *reinterpret_cast<const float4*>(&pa[(t / 4) * n + k + t % 4 * 4]);
    sa[t % 4 * 4 + 0][t / 4] = va.x;
    sa[t % 4 * 4 + 1][t / 4] = va.y;
    sa[t % 4 * 4 + 2][t / 4] = va.z;
    sa[t % 4 * 4 + 3][t / 4] = va.w;
    *reinterpret_cast<float4*>(&sb[t / 16][t % 16 * 4]) = *reinterpret_cast<const float4*>(&pb[(k + t / 16) * n + t % 16 * 4]);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      float ra[4], rb[4];
      for (int x = 0; x < 4; ++x) ra[x] = sa[i][ty * 4 + x], rb[x] = sb[i][tx * 4 + x];
      for (int x = 0; x < 4; ++x)
        for (int y = 0; y < 4; ++y) sum[x][y] += ra[x] * rb[y];
    }
    __syncthreads();
  }
  for (int x = 0; x < 4; ++x)
    for (int y = 0; y < 4; ++y) c[(blockIdx.y * kTile + ty * 4 + x) * n + blockIdx.x * kTile + tx * 4 + y] = sum[x][y];
}

int main() {
  const int n = 192;
  const auto a = random_floats(n * n, 3), b = random_floats(n * n, 4);
  Buffer<float> da(a), db(b), dc(n * n);
  gemm<<<dim3(n / kTile, n / kTile), 256>>>(da.data, db.data, dc.data, n);
  CHECK(cudaDeviceSynchronize());
  return compare(dc.host(), reference_gemm(a, b, n, n, n), 1e-5);
}
