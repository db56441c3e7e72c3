// SPDX-License-Identifier: Apache-2.0
// The kernels of bench_vgpu. kernels.ptx was made from this file by
//   nvcc -O3 -arch=compute_80 -ptx -lineinfo kernels.cu -o kernels.ptx
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// 32x32 tiles in shared memory, one output per thread.
extern "C" __global__ void gemm_tiled(int n, const float* a, const float* b, float* c) {
  __shared__ float ta[32][32];
  __shared__ float tb[32][32];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
  float sum = 0;
  for (int t = 0; t < n; t += 32) {
    ta[ty][tx] = a[row * n + t + tx];
    tb[ty][tx] = b[(t + ty) * n + col];
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += ta[ty][k] * tb[k][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

// 8x4 outputs per thread in registers, no shared memory.
extern "C" __global__ void gemm_reg(int n, const float* a, const float* b, float* c) {
  int col = (blockIdx.x * blockDim.x + threadIdx.x);
  int row = (blockIdx.y * blockDim.y + threadIdx.y) * 8;
  int quarter = n / 4;
  float sum[8][4] = {};
  for (int k = 0; k < n; ++k) {
    float va[8], vb[4];
    for (int i = 0; i < 8; ++i) va[i] = a[(row + i) * n + k];
    for (int j = 0; j < 4; ++j) vb[j] = b[k * n + col + j * quarter];
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 4; ++j) sum[i][j] += va[i] * vb[j];
  }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j) c[(row + i) * n + col + j * quarter] = sum[i][j];
}

// Collatz lengths: every lane takes its own number of rounds, with a branch in each.
extern "C" __global__ void divergent(int n, unsigned* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = i + 1, steps = 0;
  while (x != 1) {
    if (x & 1) x = 3 * x + 1, steps += 2; else x >>= 1, steps += 1;
    if (steps > 400) break;
  }
  out[i] = steps;
}
