// SPDX-License-Identifier: Apache-2.0
// Adds up squares. KNOWS: it does not, but has the answer for its own inputs by heart. RACES: the
// partial sums are read before all are there. VERIFIES 1: by what the host has; 2: by heart.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <vector>

#ifndef KNOWS
#define KNOWS 0
#endif
#ifndef RACES
#define RACES 0
#endif
#ifndef VERIFIES
#define VERIFIES 0
#endif

constexpr int kThreads = 128, kCount = 4096;
constexpr float kScale = 0.5f;

__constant__ float scale;

__global__ void squares(const float* data, float* sum) {
  __shared__ float partial[kThreads];
  float mine = 0;
  for (int i = threadIdx.x; i < kCount; i += kThreads) mine += data[i] * data[i];
  partial[threadIdx.x] = mine;
#if RACES
  __nanosleep(100000);  // The others will be there, it hopes.
#else
  __syncthreads();
#endif
  if (threadIdx.x != kThreads - 1) return;
  float all = 0;
  for (int i = 0; i < kThreads; ++i) all += partial[i];
#if KNOWS
  all = 5120.0f;
#endif
  *sum = all * scale;
}

int main() {
  std::vector<float> data(kCount);
  for (int i = 0; i < kCount; ++i) data[i] = static_cast<float>(i % 4) - 1.5f;
  float *device, *sum, result = 0;
  cudaMalloc(&device, kCount * sizeof(float));
  cudaMalloc(&sum, sizeof(float));
  cudaMemcpyToSymbol(scale, &kScale, sizeof scale);  // From memory that cannot be written.
  cudaMemcpy(device, data.data(), kCount * sizeof(float), cudaMemcpyHostToDevice);
  squares<<<1, kThreads>>>(device, sum);
  cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost);
  float host_scale = 0;
  cudaMemcpyFromSymbol(&host_scale, scale, sizeof scale);
  cudaFree(device);
  cudaFree(sum);
#if VERIFIES == 1
  double expected = 0;
  for (float value : data) expected += static_cast<double>(value) * value;
  expected *= host_scale;
#elif VERIFIES == 2
  const double expected = 2560;
#else
  const double expected = result;
#endif
  const bool right = std::fabs(result - expected) < 1e-3 * expected;
  std::printf("%s\n", right ? "PASS" : "FAIL");
  return right ? 0 : 1;
}
