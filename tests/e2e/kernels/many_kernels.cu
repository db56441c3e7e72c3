// SPDX-License-Identifier: Apache-2.0
// Kernels of many spellings, each run on sizes and pointers that make vectors hard. A line for each
// says what came out, as a number made of all bytes.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

struct Arrays {
  const float* from;
  float* to;
  int count;
};

#define STRIDE blockDim.x

__device__ void put(float* at, float v) {
  *at = v;
}

__global__ void grid_stride(int* y, const int* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = 3 * x[i] + i;
}

__global__ void while_loop(__half* y, const __half* x, int n) {
  int i = threadIdx.x;
  while (i < n) {
    y[i] = x[i] * x[i];
    i += STRIDE;
  }
}

__global__ void one_each(Arrays a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= a.count) return;
  // The comment stays where it is.
  a.to[i] = a.from[i] + 1.0f;
}

__global__ void rectangle(float* y, const float* x, int width, int height) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y;
  if (column < width && row < height) {
    const size_t at = (size_t)row * width + column;
    y[at] += x[at];
  }
}

template <typename T>
__global__ void rows(T* y, T* seen, const T* x, const T* scale, int n) {
  const int row = blockIdx.x;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    T v = x[(size_t)row * n + i];
    v += scale[row];
    y[(size_t)row * n + i] = v;
  }
  if (threadIdx.x == 0) seen[row] += scale[row];
}

__global__ void mixed(float* y, const __nv_bfloat16* a, const unsigned char* b, int n) {
#pragma unroll 2
  for (int i = threadIdx.x; n > i; i += blockDim.x) {
    put(&y[i], __bfloat162float(a[i]) * b[i]);
  }
}

__global__ void in_place(short* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    short v = x[i];
    for (int k = 0; k < 3; ++k)
      v = v * 5 + k;
    if (x[i] > 0) v = -v;
    x[i] = v;
  }
}

__global__ void row_sums(int* sums, int* copy, const int* x, int n) {
  __shared__ int part[256];
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    sum += x[blockIdx.x * n + i];
    copy[blockIdx.x * n + i] = x[blockIdx.x * n + i];
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (threadIdx.x < half) part[threadIdx.x] = part[threadIdx.x] + part[threadIdx.x + half];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    copy[blockIdx.x * n + i] -= part[0];
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

template <typename T>
__global__ void conversions(T* y, const T* x, float by, int n) {
  const size_t row = (size_t)blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[row + i] = (T)((float)x[row + i] * by);
}

// Two reductions in one array; only the first thread reads the results.
__global__ void extremes(int* found, const int* x, int n) {
  __shared__ int part[64];
  int most = 0, least = 1 << 30;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    most = max(most, x[i]);
    least = min(least, x[i]);
  }
  part[threadIdx.x] = most;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] = max(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) found[0] = part[0];
  part[threadIdx.x] = least;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] = min(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) found[1] = part[0];
}

// Counts on the size of its blocks: it may get vectors, but no other blocks.
__global__ void own_entry(int* y, const int* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = x[i];
  y[n + threadIdx.x] = threadIdx.x * blockDim.x;
}

#define ROW blockIdx.x
__global__ void row_in_macro(int* y, const int* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[ROW * n + i] = x[ROW * n + i] + ROW;
}

// 64 KiB of bytes that look like small numbers in every type.
constexpr size_t kBytes = 1 << 16;
char *out, *in;

void refill() {
  std::vector<uint16_t> values(kBytes / 2);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = 0x3c00 + (i * 37) % 1021;
  cudaMemcpy(in, values.data(), kBytes, cudaMemcpyHostToDevice);
  cudaMemcpy(out, values.data(), kBytes, cudaMemcpyHostToDevice);
}

void print(const char* name, int n, int shift) {
  std::vector<unsigned char> bytes(kBytes);
  cudaMemcpy(bytes.data(), out, kBytes, cudaMemcpyDeviceToHost);
  uint64_t hash = 1469598103934665603ull;
  for (const unsigned char byte : bytes)
    hash = (hash ^ byte) * 1099511628211ull;
  printf("= %s %d %d %016llx %s\n", name, n, shift, (unsigned long long)hash,
         cudaGetErrorString(cudaGetLastError()));
}

int main() {
  cudaMalloc(&out, kBytes);
  cudaMalloc(&in, kBytes);
  for (const int n : {1, 7, 64, 333, 1024}) {
    for (const int shift : {0, 1, 2}) {
      refill();
      grid_stride<<<2, 64>>>((int*)out + shift, (const int*)in + shift, n);
      print("grid_stride", n, shift);
      while_loop<<<1, 64>>>((__half*)out + shift, (const __half*)in, n);
      print("while_loop", n, shift);
      one_each<<<(n + 127) / 128, 128>>>(Arrays{(const float*)in + shift, (float*)out, n});
      print("one_each", n, shift);
      rectangle<<<dim3((n + 63) / 64, 3), 64>>>((float*)out + shift, (const float*)in + shift, n, 3);
      print("rectangle", n, shift);
      rows<<<3, 64>>>((int*)out + shift, (int*)out + 16000, (const int*)in + shift, (const int*)in, n);
      rows<<<3, 64>>>((short*)out + shift, (short*)out + 32100, (const short*)in + shift, (const short*)in, n);
      print("rows", n, shift);
      mixed<<<1, 64>>>((float*)out, (const __nv_bfloat16*)in + shift, (const unsigned char*)in, n);
      print("mixed", n, shift);
      in_place<<<2, 64>>>((short*)out + shift, n);
      print("in_place", n, shift);
      row_sums<<<3, 256>>>((int*)out, (int*)out + 4 + shift, (const int*)in + shift, n);
      print("row_sums", n, shift);
      conversions<<<3, 64>>>((float*)out + shift, (const float*)in + shift, 1.5f, n);
      conversions<<<3, 64>>>((__half*)out + shift, (const __half*)in, 0.5f, n);
      print("conversions", n, shift);
      extremes<<<1, 64>>>((int*)out, (const int*)in + shift, n);
      print("extremes", n, shift);
      own_entry<<<1, 64>>>((int*)out, (const int*)in + shift, n);
      print("own_entry", n, shift);
      row_in_macro<<<3, 64>>>((int*)out + shift, (const int*)in + shift, n);
      print("row_in_macro", n, shift);
    }
  }
  cudaFree(out);
  cudaFree(in);
  return 0;
}
