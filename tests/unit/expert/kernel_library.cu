// SPDX-License-Identifier: Apache-2.0
// Kernels of many spellings. A comment says what 16-byte vectors make of the next kernel: "vectors"
// or why not. All of them are launched at the end, so that templates are instantiated.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct Arrays {
  const float* from;
  float* to;
  int count;
};

#define STRIDE blockDim.x
#define EACH(i, n) \
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)

__device__ float twice(float v) {
  return 2 * v;
}
__device__ void put(float* at, float v) {
  *at = v;
}
__device__ float with_next(const float* at) {
  return at[0] + at[1];
}
__device__ float shared_sum(float v) {
  return v + __shfl_xor_sync(~0u, v, 1);
}

// vectors
__global__ void grid_stride(float* y, const float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = twice(x[i]);
}

// vectors
__global__ void while_loop(__half* y, const __half* x, int n) {
  int i = threadIdx.x;
  while (i < n) {
    y[i] = x[i] * x[i];
    i += STRIDE;
  }
}

// vectors
__global__ void one_each(Arrays a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= a.count) return;
  a.to[i] = a.from[i] + 1.0f;
}

// vectors
__global__ void rectangle(float* y, const float* x, int width, int height) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y;
  if (column < width && row < height) {
    const size_t at = (size_t)row * width + column;
    y[at] += x[at];
  }
}

// vectors
template <typename T>
__global__ void rows(T* y, const T* x, const float* scale, int n) {
  auto* out = y + (size_t)blockIdx.x * n;
  for (auto i = threadIdx.x; i < n; i = i + blockDim.x)
    out[i] = (T)((float)x[(size_t)blockIdx.x * n + i] * scale[blockIdx.x]);
}

// vectors
__global__ void mixed(float* y, const __nv_bfloat16* a, const unsigned char* b, int n) {
  for (int i = threadIdx.x; n > i; i += blockDim.x) {
    put(&y[i], __bfloat162float(a[i]) * b[i]);
  }
}

// vectors
__global__ void lanes(int* most, const int* x, int n) {
  const int lane = threadIdx.x % 32;
  int found = 0;
  for (int i = lane; i < n; i += 32)
    found = max(found, *(x + i));
  for (int step = 16; step > 0; step /= 2)
    found = max(found, __shfl_xor_sync(~0u, found, step));
  if (lane == 0) most[0] = found;
}

// vectors
__global__ void cached(float* y, const float* __restrict__ x, const int* __restrict__ at,
                       const float* __restrict__ table, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = __ldg(&x[i]) + table[at[i]];
}

// 'x[i + 1]' does not go to neighbouring elements
__global__ void stencil(float* y, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = x[i + 1];
}

// 'x[i * 2]' does not go to neighbouring elements
__global__ void strided(float* y, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = x[i * 2];
}

// 'x[at[i]]' does not go to neighbouring elements
__global__ void gathered(float* y, const float* x, const int* at, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = x[at[i]];
}

// 'x[(unsigned char)i]' does not go to neighbouring elements
__global__ void wrapped(float* y, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = x[(unsigned char)i];
}

// the loop is written by a macro
__global__ void in_a_macro(float* y, const float* x, int n) {
  EACH(i, n) y[i] = x[i];
}

// the step '2 * blockDim.x' is not the number of threads that 'threadIdx.x' counts, blockDim.x
__global__ void every_second(float* y, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += 2 * blockDim.x)
    y[i] = x[i];
}

// 'y[i]' is stored in some rounds only
__global__ void masked(float* y, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (x[i] > 0) y[i] = 1;
  }
}

// 'last' goes from one round to the next
__global__ void carried(float* y, const float* x, int n) {
  float last = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    y[i] = x[i] - last;
    last = x[i];
  }
}

// 'z' is read after 'y' was stored, which may be the same memory
__global__ void in_order(float* y, float* z, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    y[i] = 1;
    y[i] = z[i];
  }
}

// the loop's body calls __shfl_xor_sync
__global__ void talking(float* y, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = shared_sum(x[i]);
}

// what with_next does with '&x[i]' is not known
__global__ void reaching(float* y, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = with_next(&x[i]);
}

// the loop's body calls atomicAdd
__global__ void counting(int* y, const int* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    atomicAdd(&y[x[i]], 1);
}

// each thread's own 'sum' is stored
__global__ void partial_sums(float* y, const float* x, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    sum += x[i];
  y[threadIdx.x] = sum;
}

// 'y[threadIdx.x]' is used outside of the loop with no barrier between
__global__ void own_element(float* y, float* z, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = x[i];
  z[threadIdx.x] = y[threadIdx.x];
}

// the loop's body leaves a round early
__global__ void skipping(float* y, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (x[i] < 0) continue;
    y[i] = x[i];
  }
}

// 'half' is made of the index outside of the loop
__global__ void made_before(float* y, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int half = i / 2;
  if (i < n) y[i] = x[i] + half;
}

// vectors
__global__ void wide(double* y, const double* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = x[i];
}

void use(float* y, const float* x) {
  rows<<<1, 32>>>(y, x, x, 3);
  rows<<<1, 32>>>((__half*)y, (const __half*)x, x, 3);
}
