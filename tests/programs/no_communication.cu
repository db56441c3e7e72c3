// SPDX-License-Identifier: Apache-2.0
// Nothing to replace: one GPU, two kernels, no communication.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__global__ void saxpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

__global__ void fill(float* x, int n, float value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = value;
}

int main() {
  const int n = 10000;
  float *x, *y;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  fill<<<(n + 255) / 256, 256>>>(x, n, 2.0f);
  fill<<<(n + 255) / 256, 256>>>(y, n, 1.0f);
  for (int i = 0; i < 4; ++i) saxpy<<<(n + 255) / 256, 256>>>(0.5f, x, y, n);
  std::vector<float> host(n);
  cudaMemcpy(host.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  int wrong = 0;
  for (float v : host) wrong += v != 5.0f;
  std::printf("%s\n", wrong ? "FAIL" : "PASS");
  return wrong != 0;
}
