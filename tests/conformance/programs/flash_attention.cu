// SPDX-License-Identifier: Apache-2.0
// Attention with the online softmax: a block per 16 queries, keys in tiles.
#include "check.h"

constexpr int kHead = 32, kRows = 16, kKeys = 32;

__global__ void attention(const float* q, const float* k, const float* v, float* out, int length, float scale) {
  __shared__ float sk[kKeys][kHead + 1], sv[kKeys][kHead + 1];
  const int lane = threadIdx.x, row = blockIdx.x * kRows + threadIdx.y;
  float m = -INFINITY, l = 0, o = 0;
  const float mine = q[row * kHead + lane] * scale;
  for (int at = 0; at < length; at += kKeys) {
    for (int i = threadIdx.y; i < kKeys; i += kRows) {
      sk[i][lane] = k[(at + i) * kHead + lane];
      sv[i][lane] = v[(at + i) * kHead + lane];
    }
    __syncthreads();
    float s = 0;  // lane j scores key j
    for (int d = 0; d < kHead; ++d) s += __shfl_sync(~0U, mine, d) * sk[lane][d];
    float tile = s;
    for (int x = 16; x > 0; x /= 2) tile = fmaxf(tile, __shfl_xor_sync(~0U, tile, x));
    const float next = fmaxf(m, tile), keep = __expf(m - next), p = __expf(s - next);
    float total = p;
    for (int x = 16; x > 0; x /= 2) total += __shfl_xor_sync(~0U, total, x);
    l = l * keep + total;
    o *= keep;
    for (int j = 0; j < kKeys; ++j) o += __shfl_sync(~0U, p, j) * sv[j][lane];
    m = next;
    __syncthreads();
  }
  out[row * kHead + lane] = o / l;
}

int main() {
  const int length = 128;
  const auto q = random_floats(length * kHead, 9), k = random_floats(length * kHead, 10), v = random_floats(length * kHead, 11);
  const float scale = 1 / sqrtf(kHead) * 3;
  Buffer<float> dq(q), dk(k), dv(v), out(length * kHead);
  attention<<<length / kRows, dim3(32, kRows)>>>(dq.data, dk.data, dv.data, out.data, length, scale);
  CHECK(cudaDeviceSynchronize());
  std::vector<double> expected(length * kHead);
  for (int i = 0; i < length; ++i) {
    std::vector<double> p(length);
    double sum = 0;
    for (int j = 0; j < length; ++j) {
      double s = 0;
      for (int d = 0; d < kHead; ++d) s += static_cast<double>(q[i * kHead + d]) * k[j * kHead + d];
      sum += p[j] = std::exp(s * scale);
    }
    for (int d = 0; d < kHead; ++d) {
      double o = 0;
      for (int j = 0; j < length; ++j) o += p[j] / sum * v[j * kHead + d];
      expected[i * kHead + d] = o;
    }
  }
  return compare(out.host(), expected, 1e-4);
}
