// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"
namespace {
__global__ void forward_kernel(const float* w, float* a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = w[i] * 2 + 1; }
__global__ void update_kernel(float* w, const float* g, int n, float lr) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) w[i] -= lr * g[i]; }
constexpr int kBlock = 128;
}
void forward(const float* w, float* a, int n, cudaStream_t s) { forward_kernel<<<(n + kBlock - 1) / kBlock, kBlock, 0, s>>>(w, a, n); }
void update(float* w, const float* g, int n, float lr, cudaStream_t s) { update_kernel<<<(n + kBlock - 1) / kBlock, kBlock, 0, s>>>(w, g, n, lr); }
