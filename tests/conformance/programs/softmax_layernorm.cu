// SPDX-License-Identifier: Apache-2.0
// Row softmax and layer normalisation, a block per row, with warp and block reductions.
#include "check.h"

template <typename Op>
__device__ float block_reduce(float value, Op op, float identity) {
  __shared__ float part[32];
  for (int x = 16; x > 0; x /= 2) value = op(value, __shfl_xor_sync(~0U, value, x));
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : identity;
  for (int x = 16; x > 0; x /= 2) value = op(value, __shfl_xor_sync(~0U, value, x));
  return value;
}

__global__ void softmax(const float* in, float* out, int n) {
  const float* row = in + blockIdx.x * n;
  float m = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, row[i]);
  m = block_reduce(m, [](float a, float b) { return fmaxf(a, b); }, -INFINITY);
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - m);
  sum = block_reduce(sum, [](float a, float b) { return a + b; }, 0);
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = expf(row[i] - m) / sum;
}

__global__ void layernorm(const float* in, float* out, int n) {
  const float* row = in + blockIdx.x * n;
  const auto add = [](float a, float b) { return a + b; };
  float sum = 0, square = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i];
  const float mean = block_reduce(sum, add, 0) / n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) square += (row[i] - mean) * (row[i] - mean);
  const float scale = rsqrtf(block_reduce(square, add, 0) / n + 1e-5F);
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = (row[i] - mean) * scale;
}

int main() {
  const int rows = 7, n = 500;
  auto x = random_floats(rows * n, 12);
  for (float& value : x) value *= 8;
  Buffer<float> dx(x), soft(rows * n), norm(rows * n);
  softmax<<<rows, 128>>>(dx.data, soft.data, n);
  layernorm<<<rows, 256>>>(dx.data, norm.data, n);
  CHECK(cudaDeviceSynchronize());
  std::vector<double> s(rows * n), l(rows * n);
  for (int r = 0; r < rows; ++r) {
    double m = -1e30, sum = 0, mean = 0, variance = 0;
    for (int i = 0; i < n; ++i) m = std::fmax(m, x[r * n + i]), mean += x[r * n + i] / static_cast<double>(n);
    for (int i = 0; i < n; ++i) sum += std::exp(x[r * n + i] - m), variance += std::pow(x[r * n + i] - mean, 2) / n;
    for (int i = 0; i < n; ++i) {
      s[r * n + i] = std::exp(x[r * n + i] - m) / sum;
      l[r * n + i] = (x[r * n + i] - mean) / std::sqrt(variance + 1e-5);
    }
  }
  return compare(soft.host(), s, 1e-6) + compare(norm.host(), l, 1e-5);
}
