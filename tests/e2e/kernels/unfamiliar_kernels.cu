// SPDX-License-Identifier: Apache-2.0
// Kernels that no workload has, each on ragged sizes and shifted pointers, checked against the host
// in double precision: sums may be taken in another order, but not of other numbers. A line for
// each says "right", or by how much it is wrong.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

__device__ float gelu(float v) {
  return v / (1.0f + expf(-1.702f * v));
}

// Mean and variance in two passes, then a third.
__global__ void layernorm(float* y, const float* x, const float* gain, const float* bias, int n) {
  __shared__ float part[128];
  const float* row = x + (size_t)blockIdx.x * n;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    sum += row[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  const float mean = part[0] / n;
  __syncthreads();
  float squares = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    squares += (row[i] - mean) * (row[i] - mean);
  part[threadIdx.x] = squares;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  const float factor = 1.0f / sqrtf(part[0] / n + 1e-5f);
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[(size_t)blockIdx.x * n + i] = (row[i] - mean) * factor * gain[i] + bias[i];
}

// In place: what the second loop stores, the third reads.
__global__ void softmax(float* x, int n) {
  __shared__ float part[128];
  const size_t row = (size_t)blockIdx.x * n;
  float most = -1e30f;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    most = fmaxf(most, x[row + i]);
  part[threadIdx.x] = most;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  const float top = part[0];
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    x[row + i] = expf(x[row + i] - top);
    sum += x[row + i];
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    x[row + i] /= part[0];
}

// Pairs that are half a row apart.
__global__ void rope(float* y, const float* x, const float* angle, int half) {
  const size_t row = (size_t)blockIdx.x * 2 * half;
  for (int i = threadIdx.x; i < half; i += blockDim.x) {
    const float a = x[row + i];
    const float b = x[row + half + i];
    y[row + i] = a * cosf(angle[i]) - b * sinf(angle[i]);
    y[row + half + i] = a * sinf(angle[i]) + b * cosf(angle[i]);
  }
}

template <typename T>
__global__ void gelu_up(T* y, const T* gate, const T* up, const T* bias, int n) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const size_t at = (size_t)blockIdx.y * n + column;
  if (column < n) y[at] = (T)(gelu((float)gate[at] + (float)bias[column]) * (float)up[at]);
}

// The row's largest magnitude scales it into bytes.
__global__ void quantise(signed char* q, float* scale, const float* x, int n) {
  __shared__ float part[128];
  const float* row = x + (size_t)blockIdx.x * n;
  float most = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    most = fmaxf(most, fabsf(row[i]));
  part[threadIdx.x] = most;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  const float step = part[0] / 127.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    q[(size_t)blockIdx.x * n + i] = (signed char)rintf(row[i] / step);
  if (threadIdx.x == 0) scale[blockIdx.x] = step;
}

// `x` and `residual` are one buffer in one of its launches.
__global__ void dropout_add(float* residual, const float* x, const unsigned char* mask, float keep,
                            int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    residual[i] += mask[i] % 4 != 0 ? x[i] / keep : 0.0f;
}

// A scaled row, and its sum once more from what was stored: the two pointers may be one buffer.
__global__ void scale_and_sum(float* y, float* sums, const float* x, int n) {
  __shared__ float part[128];
  const size_t row = (size_t)blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[row + i] = 2 * x[row + i];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    sum += x[row + i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

// Nothing fits: the stores are a column apart.
__global__ void transpose(float* y, const float* x, int rows, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[(size_t)i * rows + blockIdx.x] = x[(size_t)blockIdx.x * n + i];
}

constexpr int kRows = 3;
constexpr size_t kMost = 1 << 14;
float *out, *in, *other;
std::vector<float> x(kMost), z(kMost), got(kMost);

void refill() {
  for (size_t i = 0; i < kMost; ++i) {
    x[i] = (float)((i * 37) % 101) / 50 - 1;
    z[i] = (float)((i * 11) % 31) / 30 + 0.5f;
  }
  cudaMemcpy(in, x.data(), kMost * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(out, x.data(), kMost * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(other, z.data(), kMost * 4, cudaMemcpyHostToDevice);
}

template <typename Expected>
void compare(const char* name, int n, int shift, int count, const float* from, Expected expected) {
  cudaMemcpy(got.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost);
  double worst = 0;
  for (int i = 0; i < count; ++i) {
    const double right = expected(i);
    worst = std::max(worst, std::fabs(got[i] - right) / (1 + std::fabs(right)));
  }
  if (worst < 2e-3 && cudaGetLastError() == cudaSuccess) {
    printf("= %s %d %d right\n", name, n, shift);
  } else {
    printf("= %s %d %d wrong by %g\n", name, n, shift, worst);
  }
}

double row_sum(const float* row, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i)
    sum += row[i];
  return sum;
}

void normalise(int n, int shift) {
  const float* data = x.data() + shift;
  refill();
  layernorm<<<kRows, 128>>>(out + shift, in + shift, other, other + n, n);
  compare("layernorm", n, shift, kRows * n, out + shift, [&](int i) {
    const float* row = data + i / n * n;
    const double mean = row_sum(row, n) / n;
    double variance = 0;
    for (int k = 0; k < n; ++k)
      variance += (row[k] - mean) * (row[k] - mean) / n;
    return (data[i] - mean) / std::sqrt(variance + 1e-5) * z[i % n] + z[n + i % n];
  });
  softmax<<<kRows, 128>>>(in + shift, n);
  compare("softmax", n, shift, kRows * n, in + shift, [&](int i) {
    double sum = 0;
    for (int k = 0; k < n; ++k)
      sum += std::exp(data[i / n * n + k]);
    return std::exp(data[i]) / sum;
  });
}

void rows(int n, int shift) {
  const float* data = x.data() + shift;
  refill();
  rope<<<kRows, 64>>>(out + shift, in + shift, other, n);
  compare("rope", n, shift, kRows * 2 * n, out + shift, [&](int i) {
    const int k = i % (2 * n) % n;
    const bool second = i % (2 * n) >= n;
    const double a = data[i - (second ? n : 0)];
    const double b = data[i + (second ? 0 : n)];
    return second ? a * std::sin(z[k]) + b * std::cos(z[k]) : a * std::cos(z[k]) - b * std::sin(z[k]);
  });
  gelu_up<<<dim3((n + 63) / 64, kRows), 64>>>(out + shift, in + shift, other + shift, other, n);
  compare("gelu_up", n, shift, kRows * n, out + shift, [&](int i) {
    const double v = data[i] + z[i % n];
    return v / (1 + std::exp(-1.702 * v)) * z[shift + i];
  });
  gelu_up<<<dim3((n + 63) / 64, kRows), 64>>>((__half*)out + shift, (const __half*)in,
                                              (const __half*)in, (const __half*)in, 0);
  quantise<<<kRows, 128>>>((signed char*)out + shift, out + 8192, in + shift, n);
  compare("quantise", n, shift, kRows, out + 8192, [&](int row) {
    double most = 0;
    for (int k = 0; k < n; ++k)
      most = std::max(most, std::fabs((double)data[row * n + k]));
    return most / 127;
  });
  transpose<<<kRows, 64>>>(out, in, kRows, n);
  compare("transpose", n, shift, kRows * n, out, [&](int i) { return x[i % kRows * n + i / kRows]; });
}

void aliases(int n, int shift) {
  refill();
  const auto mask = (const unsigned char*)other;
  const auto bytes = (const unsigned char*)z.data();
  dropout_add<<<2, 64>>>(out + shift, in + shift, mask, 0.75f, n);
  compare("dropout_add", n, shift, n, out + shift, [&](int i) {
    return x[shift + i] + (bytes[i] % 4 != 0 ? x[shift + i] / 0.75 : 0.0);
  });
  dropout_add<<<2, 64>>>(in + shift, in + shift, mask, 0.75f, n);
  compare("dropout_add in place", n, shift, n, in + shift, [&](int i) {
    return x[shift + i] + (bytes[i] % 4 != 0 ? x[shift + i] / 0.75 : 0.0);
  });
  refill();
  scale_and_sum<<<kRows, 128>>>(in + shift, out, in + shift, n);
  compare("scale_and_sum", n, shift, kRows, out,
          [&](int row) { return 2 * row_sum(&x[shift + row * n], n); });
}

int main() {
  cudaMalloc(&out, kMost * 4);
  cudaMalloc(&in, kMost * 4);
  cudaMalloc(&other, kMost * 4);
  for (const int n : {1, 33, 512, 1001}) {
    for (const int shift : {0, 1}) {
      normalise(n, shift);
      rows(n, shift);
      aliases(n, shift);
    }
  }
  cudaFree(out);
  cudaFree(in);
  cudaFree(other);
  return 0;
}
