// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels that the model was tried on after it had been fitted, of kinds that kernels.cu has not:
/// nothing is fitted on them. Prints a name and the microseconds of one launch; run.py measures and
/// predicts.
///
///   unseen [--repeat N] [name...]      the median of N launches (default 1) after a warm-up
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using bf16 = __nv_bfloat16;

constexpr u64 kBytes = u64{64} << 20;  ///< Of each buffer: more than L2 holds.
float *in = nullptr, *other = nullptr, *out = nullptr;
bf16* halves = nullptr;  ///< 32 M.
u32* places = nullptr;  ///< 4 M numbers below 4 M, each once, in disorder.
u32* chain = nullptr;   ///< 4 M: each names the next, 1,031 lines further.
u32* table = nullptr;   ///< 1 M of a hash table, then counters.

__device__ __forceinline__ u32 number() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ u32 mixed(u32 x) {
  x ^= x >> 16;
  x *= 0x7FEB352DU;
  x ^= x >> 15;
  x *= 0x846CA68BU;
  return x ^ x >> 16;
}
__global__ void fill(float* to, u64 n, u32 seed) {
  for (u64 i = number(); i < n; i += u64{gridDim.x} * blockDim.x)
    to[i] = mixed(static_cast<u32>(i) + seed) * (2.0F / 4294967296.0F) - 1.0F;
}
__global__ void fill_halves(bf16* to, u32 n) {
  for (u32 i = number(); i < n; i += gridDim.x * blockDim.x)
    to[i] = __float2bfloat16(mixed(i) * (2.0F / 4294967296.0F) - 1.0F);
}
__global__ void fill_places(u32* to, u32* next, u32 n) {
  for (u32 i = number(); i < n; i += gridDim.x * blockDim.x) {
    to[i] = (i * 2654435761U + 12345U) % n;
    next[i] = (i + 32 * 1031) % n;
  }
}

// ---- moving

template <typename T>
__global__ void reverse(const T* from, T* to, u32 n) {
  const u32 i = number();
  if (i < n) to[n - 1 - i] = from[i];
}
__global__ void gather_index(const float* from, const u32* at, float* to, u32 n) {
  const u32 i = number();
  if (i < n) to[i] = from[at[i]];
}
__global__ void scatter_index(const float* from, const u32* at, float* to, u32 n) {
  const u32 i = number();
  if (i < n) to[at[i]] = from[i];
}
__global__ void strided_both(const float* from, float* to, u32 n, u32 stride) {
  const u32 i = number();
  if (i < n) to[i * stride] = from[i * stride] + 1;
}
__global__ void transpose_conflicts(const float* from, float* to, u32 n) {
  __shared__ float tile[32][32];
  const u32 x = blockIdx.x * 32, y = blockIdx.y * 32;
  for (u32 j = threadIdx.y; j < 32; j += 8)
    tile[j][threadIdx.x] = from[(y + j) * n + x + threadIdx.x];
  __syncthreads();
  for (u32 j = threadIdx.y; j < 32; j += 8)
    to[(x + j) * n + y + threadIdx.x] = tile[threadIdx.x][j];
}
__global__ void transpose_bf16(const bf16* from, bf16* to, u32 n) {
  __shared__ bf16 tile[32][34];
  const u32 x = blockIdx.x * 32, y = blockIdx.y * 32;
  for (u32 j = threadIdx.y; j < 32; j += 8)
    tile[j][threadIdx.x] = from[(y + j) * n + x + threadIdx.x];
  __syncthreads();
  for (u32 j = threadIdx.y; j < 32; j += 8)
    to[(x + j) * n + y + threadIdx.x] = tile[threadIdx.x][j];
}
__global__ void to_bf16(const float4* from, uint2* to, u32 n) {
  const u32 i = number();
  if (i >= n) return;
  const float4 v = from[i];
  const __nv_bfloat162 low = __floats2bfloat162_rn(v.x, v.y), high = __floats2bfloat162_rn(v.z, v.w);
  to[i] = make_uint2(*reinterpret_cast<const u32*>(&low), *reinterpret_cast<const u32*>(&high));
}
__global__ void to_half(const float* from, __half* to, u32 n) {
  const u32 i = number();
  if (i < n) to[i] = __float2half(from[i]);
}
__global__ void from_bf16(const bf16* from, float* to, u32 n) {
  const u32 i = number();
  if (i < n) to[i] = __bfloat162float(from[i]);
}
__global__ void quantize(const float* from, signed char* to, u32 n, float scale) {
  const u32 i = number();
  if (i < n) to[i] = static_cast<signed char>(max(-127, min(127, __float2int_rn(from[i] * scale))));
}
__global__ void adam(const float* g, float* p, float* m, float* v, u32 n) {
  const u32 i = number();
  if (i >= n) return;
  const float grad = g[i], first = 0.9F * m[i] + 0.1F * grad, second = 0.999F * v[i] + 0.001F * grad * grad;
  m[i] = first;
  v[i] = second;
  p[i] -= 1e-3F * first / (sqrtf(fabsf(second)) + 1e-8F);
}
__global__ void gray(const uchar4* from, u8* to, u32 n) {
  const u32 i = number();
  if (i >= n) return;
  const uchar4 p = from[i];
  to[i] = static_cast<u8>(0.299F * p.x + 0.587F * p.y + 0.114F * p.z);
}
__global__ void rope(const __nv_bfloat162* from, __nv_bfloat162* to, u32 rows) {
  const u32 i = number(), row = i / 64, pair = i % 64;
  if (row >= rows) return;
  float s, c;
  __sincosf(row % 4096 * __expf(-0.14391157F * pair), &s, &c);
  const float2 v = __bfloat1622float2(from[i]);
  to[i] = __floats2bfloat162_rn(v.x * c - v.y * s, v.x * s + v.y * c);
}

// ---- scans, reductions, selections

__device__ float warp_sum(float v) {
  for (int step = 16; step > 0; step /= 2)
    v += __shfl_xor_sync(~0U, v, step);
  return v;
}
/// Four elements a thread, by shuffles; the sum of the block beside it.
__global__ void scan_shuffle(const float4* from, float4* to, float* sums) {
  __shared__ float parts[8];
  const u32 t = threadIdx.x, lane = t % 32;
  float4 v = from[number()];
  v.y += v.x, v.z += v.y, v.w += v.z;
  float sum = v.w;
  for (u32 step = 1; step < 32; step *= 2) {
    const float before = __shfl_up_sync(~0U, sum, step);
    if (lane >= step) sum += before;
  }
  if (lane == 31) parts[t / 32] = sum;
  __syncthreads();
  float base = sum - v.w;
  for (u32 w = 0; w < t / 32; ++w)
    base += parts[w];
  to[number()] = make_float4(v.x + base, v.y + base, v.z + base, v.w + base);
  if (t == 255) sums[blockIdx.x] = base + v.w;
}
__global__ void scan_add(float4* to, const float* sums) {
  float base = 0;
  for (u32 b = 0; b < blockIdx.x % 64; ++b)
    base += sums[b];
  float4 v = to[number()];
  v.x += base, v.y += base, v.z += base, v.w += base;
  to[number()] = v;
}
__global__ void max_at(const float* from, const u32* which, float* to, u32* at, u32 n) {
  __shared__ float best[256];
  __shared__ u32 place[256];
  float top = -1e30F;
  u32 mine = 0;
  for (u32 i = number(); i < n; i += gridDim.x * blockDim.x) {
    if (from[i] > top) {
      top = from[i];
      mine = which == nullptr ? i : which[i];
    }
  }
  best[threadIdx.x] = top;
  place[threadIdx.x] = mine;
  for (u32 step = 128; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step && best[threadIdx.x + step] > best[threadIdx.x]) {
      best[threadIdx.x] = best[threadIdx.x + step];
      place[threadIdx.x] = place[threadIdx.x + step];
    }
  }
  if (threadIdx.x == 0) {
    to[blockIdx.x] = best[0];
    at[blockIdx.x] = place[0];
  }
}
__global__ void sum_double(const double* from, double* to, u32 n) {
  __shared__ double parts[256];
  double sum = 0;
  for (u32 i = number(); i < n; i += gridDim.x * blockDim.x)
    sum += from[i] * from[i];
  parts[threadIdx.x] = sum;
  for (u32 step = 128; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) parts[threadIdx.x] += parts[threadIdx.x + step];
  }
  if (threadIdx.x == 0) to[blockIdx.x] = parts[0];
}
__global__ void column_sums(const float* from, float* to, u32 rows, u32 width) {
  const u32 x = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (u32 y = blockIdx.y * blockDim.y + threadIdx.y; y < rows; y += gridDim.y * blockDim.y)
    sum += from[y * width + x];
  atomicAdd(&to[x], sum);
}
__global__ void compact(const float* from, float* to, u32* count, u32 n) {
  const u32 i = number(), lane = threadIdx.x % 32;
  const float v = i < n ? from[i] : 0;
  const u32 kept = __ballot_sync(~0U, v > 0.5F);
  u32 base = 0;
  if (lane == 0 && kept != 0) base = atomicAdd(count, __popc(kept)) % (8 << 20);
  base = __shfl_sync(~0U, base, 0);
  if (v > 0.5F) to[base + __popc(kept & ((1U << lane) - 1))] = v;
}
__global__ void histogram_warps(const u8* from, u32* bins, u32 n) {
  __shared__ u32 own[8][64];
  for (u32 i = threadIdx.x; i < 512; i += 256)
    own[i / 64][i % 64] = 0;
  __syncthreads();
  for (u32 i = number(); i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&own[threadIdx.x / 32][from[i] % 64], 1);
  __syncthreads();
  if (threadIdx.x >= 64) return;
  u32 sum = 0;
  for (const auto& one : own)
    sum += one[threadIdx.x];
  atomicAdd(&bins[threadIdx.x], sum);
}
__global__ void histogram_wide(const u32* from, u32* bins, u32 n, u32 size) {
  for (u32 i = number(); i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[mixed(from[i]) % size], 1);
}
/// One step of a sort in global memory.
__global__ void bitonic_step(float* row, u32 step, u32 size) {
  const u32 i = number(), peer = i ^ step;
  if (peer < i) return;
  const float a = row[i], b = row[peer];
  if ((a > b) == ((i & size) == 0)) {
    row[i] = b;
    row[peer] = a;
  }
}
__global__ void radix_count(const u32* from, u32* counts, u32 shift) {
  __shared__ u32 own[16];
  if (threadIdx.x < 16) own[threadIdx.x] = 0;
  __syncthreads();
  for (u32 i = 0; i < 8; ++i)
    atomicAdd(&own[from[blockIdx.x * 2048 + i * 256 + threadIdx.x] >> shift & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = own[threadIdx.x];
}
/// The two largest of 64 per row, a warp per row, and their weights.
__global__ void top_two(const float* from, float2* weights, uint2* experts) {
  const u32 row = number() / 32, lane = threadIdx.x % 32;
  float v[2] = {from[u64{row} * 64 + lane], from[u64{row} * 64 + 32 + lane]}, best[2];
  u32 at[2];
  for (u32 k = 0; k < 2; ++k) {
    float top = fmaxf(v[0], v[1]);
    u32 mine = v[0] >= v[1] ? lane : lane + 32;
    for (int step = 16; step > 0; step /= 2) {
      const float rival = __shfl_xor_sync(~0U, top, step);
      const u32 place = __shfl_xor_sync(~0U, mine, step);
      if (rival > top || rival == top && place < mine) top = rival, mine = place;
    }
    best[k] = top;
    at[k] = mine;
    if (mine % 32 == lane) v[mine / 32] = -1e30F;
  }
  if (lane != 0) return;
  const float ratio = __expf(best[1] - best[0]);
  weights[row] = make_float2(1 / (1 + ratio), ratio / (1 + ratio));
  experts[row] = make_uint2(at[0], at[1]);
}

// ---- rows

/// Three passes over the row: maximum, sum, quotient.
__global__ void softmax_passes(const float* from, float* to, u32 width) {
  __shared__ float parts[4];
  from += u64{blockIdx.x} * width;
  to += u64{blockIdx.x} * width;
  float top = -1e30F, sum = 0;
  for (u32 i = threadIdx.x; i < width; i += 128)
    top = fmaxf(top, from[i]);
  for (int step = 16; step > 0; step /= 2)
    top = fmaxf(top, __shfl_xor_sync(~0U, top, step));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = top;
  __syncthreads();
  top = fmaxf(fmaxf(parts[0], parts[1]), fmaxf(parts[2], parts[3]));
  __syncthreads();
  for (u32 i = threadIdx.x; i < width; i += 128)
    sum += expf(from[i] - top);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = parts[0] + parts[1] + parts[2] + parts[3];
  for (u32 i = threadIdx.x; i < width; i += 128)
    to[i] = expf(from[i] - top) / sum;
}
/// x += y, and the norm of it: what stands before every layer, written plainly.
__global__ void add_rms_norm(const bf16* x, bf16* residual, bf16* to, u32 width) {
  __shared__ float parts[32];
  x += u64{blockIdx.x} * width;
  residual += u64{blockIdx.x} * width;
  to += u64{blockIdx.x} * width;
  float squares = 0;
  for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
    const float v = __bfloat162float(x[i]) + __bfloat162float(residual[i]) * 0.5F;
    squares += v * v;
    residual[i] = __float2bfloat16(v);
  }
  squares = warp_sum(squares);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = squares;
  __syncthreads();
  squares = 0;
  for (u32 w = 0; w < blockDim.x / 32; ++w)
    squares += parts[w];
  const float scale = rsqrtf(squares / width + 1e-5F);
  for (u32 i = threadIdx.x; i < width; i += blockDim.x)
    to[i] = __float2bfloat16(__bfloat162float(residual[i]) * scale);
}
/// A warp per row of 1,024, by Welford's method.
__global__ void layer_norm_welford(const float* from, float* to) {
  const u64 row = u64{number() / 32} * 1024 + threadIdx.x % 32;
  float mean = 0, m2 = 0;
  for (u32 i = 0; i < 32; ++i) {
    const float v = from[row + 32 * i], d = v - mean;
    mean += d / (i + 1);
    m2 += d * (v - mean);
  }
  float n = 32;
  for (int step = 1; step < 32; step *= 2, n *= 2) {
    const float d = __shfl_xor_sync(~0U, mean, step) - mean;
    m2 += __shfl_xor_sync(~0U, m2, step) + d * d * n / 2;
    mean += d / 2;
  }
  const float scale = rsqrtf(m2 / n + 1e-5F);
  for (u32 i = 0; i < 32; ++i)
    to[row + 32 * i] = (from[row + 32 * i] - mean) * scale;
}
__global__ void silu_mul(const bf16* gate, const bf16* up, bf16* to, u32 n) {
  const u32 i = number();
  if (i >= n) return;
  const float g = __bfloat162float(gate[i]);
  to[i] = __float2bfloat16(g / (1 + __expf(-g)) * __bfloat162float(up[i]));
}
__global__ void cross_entropy(const float* from, const u32* labels, float* loss, u32 width) {
  __shared__ float parts[8];
  from += u64{blockIdx.x} * width;
  float sum = 0;
  for (u32 i = threadIdx.x; i < width; i += 256)
    sum += __expf(from[i]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (u32 w = 1; w < 8; ++w)
    sum += parts[w];
  loss[blockIdx.x] = __logf(sum) - from[labels[blockIdx.x] % width];
}

// ---- stencils, images

__global__ void stencil_9(const float* from, float* to, u32 n) {
  const u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x == 0 || y == 0 || x + 1 >= n || y + 1 >= n) return;
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      sum += from[(y + dy) * n + x + dx];
  to[y * n + x] = sum / 9;
}
__global__ void stencil_27(const float* from, float* to, u32 n) {
  const u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z;
  if (x == 0 || y == 0 || z == 0 || x + 1 >= n || y + 1 >= n || z + 1 >= n) return;
  float sum = 0;
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        sum += from[((z + dz) * n + y + dy) * n + x + dx];
  to[(z * n + y) * n + x] = sum;
}
__constant__ float kWeights[49] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8};
__global__ void convolve_7x7(const float* from, float* to, u32 n) {
  __shared__ float tile[22][23];
  const u32 x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
  for (u32 i = threadIdx.y * 16 + threadIdx.x; i < 484; i += 256) {
    const u32 x = min(x0 + i % 22, n - 1), y = min(y0 + i / 22, n - 1);
    tile[i / 22][i % 22] = from[y * n + x];
  }
  __syncthreads();
  float sum = 0;
  for (u32 dy = 0; dy < 7; ++dy)
    for (u32 dx = 0; dx < 7; ++dx)
      sum += kWeights[dy * 7 + dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
  to[(y0 + threadIdx.y) * n + x0 + threadIdx.x] = sum;
}
__global__ void life(const u8* from, u8* to, u32 n) {
  const u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x == 0 || y == 0 || x + 1 >= n || y + 1 >= n) return;
  const u8* c = from + y * n + x;
  const u32 alive = (c[-1] & 1) + (c[1] & 1) + (c[-int(n)] & 1) + (c[n] & 1) + (c[-int(n) - 1] & 1) +
                    (c[-int(n) + 1] & 1) + (c[n - 1] & 1) + (c[n + 1] & 1);
  to[y * n + x] = alive == 3 || alive == 2 && (*c & 1) != 0;
}
__global__ void pool_2x2(const float* from, float* to, u32 n) {
  const u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const float2 a = *reinterpret_cast<const float2*>(&from[2 * y * n + 2 * x]);
  const float2 b = *reinterpret_cast<const float2*>(&from[(2 * y + 1) * n + 2 * x]);
  to[y * (n / 2) + x] = fmaxf(fmaxf(a.x, a.y), fmaxf(b.x, b.y));
}

// ---- matrices

/// 64 x 64 per block of 256, 4 x 4 per thread.
__global__ void __launch_bounds__(256) gemm_registers(const float* a, const float* b, float* c, u32 n) {
  __shared__ float ta[16][68], tb[16][64];
  const u32 t = threadIdx.x, tx = t % 16, ty = t / 16;
  const u32 row = blockIdx.y * 64, col = blockIdx.x * 64;
  float sum[4][4] = {};
  for (u32 k0 = 0; k0 < n; k0 += 16) {
    const float4 va = *reinterpret_cast<const float4*>(&a[(row + t / 4) * n + k0 + t % 4 * 4]);
    ta[t % 4 * 4][t / 4] = va.x, ta[t % 4 * 4 + 1][t / 4] = va.y;
    ta[t % 4 * 4 + 2][t / 4] = va.z, ta[t % 4 * 4 + 3][t / 4] = va.w;
    *reinterpret_cast<float4*>(&tb[t / 16][t % 16 * 4]) =
        *reinterpret_cast<const float4*>(&b[(k0 + t / 16) * n + col + t % 16 * 4]);
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < 16; ++k) {
      const float4 x = *reinterpret_cast<const float4*>(&ta[k][ty * 4]);
      const float4 y = *reinterpret_cast<const float4*>(&tb[k][tx * 4]);
      const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
      for (u32 i = 0; i < 4; ++i)
#pragma unroll
        for (u32 j = 0; j < 4; ++j)
          sum[i][j] += xs[i] * ys[j];
    }
    __syncthreads();
  }
  for (u32 i = 0; i < 4; ++i)
    *reinterpret_cast<float4*>(&c[(row + ty * 4 + i) * n + col + tx * 4]) =
        make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
}
__global__ void gemm_dp4a(const int* a, const int* b, int* c, u32 n) {
  __shared__ int ta[16][17], tb[16][17];
  const u32 x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  int sum = 0;
  for (u32 k0 = 0; k0 < n / 4; k0 += 16) {
    ta[y][x] = a[row * (n / 4) + k0 + x];
    tb[y][x] = b[(blockIdx.x * 16 + y) * (n / 4) + k0 + x];
    __syncthreads();
    for (u32 k = 0; k < 16; ++k)
      sum = __dp4a(ta[y][k], tb[x][k], sum);
    __syncthreads();
  }
  c[row * n + col] = sum;
}
__global__ void gemm_double_tiled(const double* a, const double* b, double* c, u32 n) {
  __shared__ double ta[16][17], tb[16][16];
  const u32 x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  double sum = 0;
  for (u32 k0 = 0; k0 < n; k0 += 16) {
    ta[y][x] = a[row * n + k0 + x];
    tb[y][x] = b[(k0 + y) * n + col];
    __syncthreads();
    for (u32 k = 0; k < 16; ++k)
      sum += ta[y][k] * tb[k][x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}
/// 128 x 64 per block of eight warps, one stage, plain loads.
__global__ void __launch_bounds__(256) gemm_wmma_half(const __half* a, const __half* b, __half* c, u32 n) {
  using namespace nvcuda;
  __shared__ __align__(32) __half ta[128][40], tb[32][72];
  const u32 t = threadIdx.x, warp = t / 32, row = blockIdx.y * 128, col = blockIdx.x * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 16, __half> sum[2][2];
  for (auto& line : sum)
    for (auto& one : line)
      wmma::fill_fragment(one, __float2half(0));
  for (u32 k0 = 0; k0 < n; k0 += 32) {
    for (u32 i = t; i < 512; i += 256)
      *reinterpret_cast<uint4*>(&ta[i / 4][i % 4 * 8]) =
          *reinterpret_cast<const uint4*>(&a[(row + i / 4) * n + k0 + i % 4 * 8]);
    *reinterpret_cast<uint4*>(&tb[t / 8][t % 8 * 8]) =
        *reinterpret_cast<const uint4*>(&b[(k0 + t / 8) * n + col + t % 8 * 8]);
    __syncthreads();
    for (u32 d = 0; d < 32; d += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
      for (u32 i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(fa, &ta[warp / 2 * 32 + 16 * i][d], 40);
        for (u32 j = 0; j < 2; ++j) {
          wmma::load_matrix_sync(fb, &tb[d][warp % 2 * 32 + 16 * j], 72);
          wmma::mma_sync(sum[i][j], fa, fb, sum[i][j]);
        }
      }
    }
    __syncthreads();
  }
  for (u32 i = 0; i < 2; ++i)
    for (u32 j = 0; j < 2; ++j)
      wmma::store_matrix_sync(&c[(row + warp / 2 * 32 + 16 * i) * n + col + warp % 2 * 32 + 16 * j],
                              sum[i][j], n, wmma::mem_row_major);
}
/// 64 x 64 matrices, each with its vector: a thread per row.
__global__ void matvec_batched(const float* a, const float* x, float* y) {
  __shared__ float own[64];
  own[threadIdx.x] = x[number()];
  __syncthreads();
  const float* row = a + u64{number()} * 64;
  float sum = 0;
  for (u32 k = 0; k < 64; ++k)
    sum += row[k] * own[k];
  y[number()] = sum;
}
__global__ void gemm_batched_16(const float* a, const float* b, float* c) {
  __shared__ float ta[256], tb[256];
  const u32 x = threadIdx.x, y = threadIdx.y, t = y * 16 + x;
  const u64 base = u64{blockIdx.x} * 256;
  ta[t] = a[base + t];
  tb[t] = b[base + t];
  __syncthreads();
  float sum = 0;
  for (u32 k = 0; k < 16; ++k)
    sum += ta[y * 16 + k] * tb[k * 16 + x];
  c[base + t] = sum;
}
__global__ void outer(const float* x, const float* y, float* to, u32 n) {
  const u32 i = blockIdx.x * 256 + threadIdx.x;
  to[blockIdx.y * n + i] = x[i] * y[blockIdx.y];
}
/// A warp per row of 64 elements on average.
__global__ void spmv_rows(const float* values, const u32* columns, const float* x, float* y, u32 rows) {
  const u32 row = number() / 32;
  if (row >= rows) return;
  const u32 first = row * 64, last = first + 32 + mixed(row) % 64;
  float sum = 0;
  for (u32 i = first + threadIdx.x % 32; i < last; i += 32)
    sum += values[i] * x[columns[i] % rows];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}
/// One query per warp, heads of 64, the softmax on the way.
__global__ void attention(const float2* q, const float2* k, const float2* v, float2* to, u32 keys) {
  const u32 query = number() / 32, lane = threadIdx.x % 32;
  const float2 mine = q[query * 32 + lane];
  float top = -1e30F, sum = 0;
  float2 acc = make_float2(0, 0);
  for (u32 i = 0; i < keys; ++i) {
    const float2 key = k[i * 32 + lane], value = v[i * 32 + lane];
    const float score = warp_sum(mine.x * key.x + mine.y * key.y) * 0.125F, now = fmaxf(top, score);
    const float old = __expf(top - now), weight = __expf(score - now);
    sum = sum * old + weight;
    acc = make_float2(acc.x * old + weight * value.x, acc.y * old + weight * value.y);
    top = now;
  }
  to[query * 32 + lane] = make_float2(acc.x / sum, acc.y / sum);
}

// ---- arithmetic, latency, control flow

__global__ void chase(const u32* next, u32* to, u32 turns) {
  u32 at = number() * 32;
  for (u32 t = 0; t < turns; ++t)
    at = next[at];
  to[number()] = at;
}
__global__ void collatz(u32* to, u32 n) {
  const u32 i = number();
  if (i >= n) return;
  u32 turns = 0;
  for (u32 v = i + 1; v != 1 && turns < 500; ++turns)
    v = (v & 1) != 0 ? 3 * v + 1 : v / 2;
  to[i] = turns;
}
__global__ void transcendental(const float* from, float* to, u32 n) {
  const u32 i = number();
  if (i >= n) return;
  const float x = from[i];
  to[i] = sinf(x) + cosf(x * 3) + expf(x) + log1pf(fabsf(x)) + erff(x) + atanf(x) + cbrtf(x);
}
__global__ void fused_multiply(float* to, u32 turns) {
  float a = number() * 1e-9F, b = a + 1, c = a + 2, d = a + 3;
  for (u32 t = 0; t < turns; ++t) {
    a = a * 0.999F + 0.5F;
    b = b * 0.999F + 0.5F;
    c = c * 0.999F + 0.5F;
    d = d * 0.999F + 0.5F;
  }
  to[number()] = a + b + c + d;
}
__global__ void half_multiply(__half2* to, u32 turns) {
  __half2 a = __float2half2_rn(threadIdx.x * 1e-3F), b = __float2half2_rn(0.5F), c = a, d = b;
  for (u32 t = 0; t < turns; ++t) {
    a = __hfma2(a, b, c);
    c = __hfma2(c, b, a);
    d = __hfma2(d, b, b);
  }
  to[number()] = __hadd2(__hadd2(a, c), d);
}
/// Reads the same part again and again: from the L2.
__global__ void read_again(const float4* from, float* to, u32 n, u32 turns) {
  float sum = 0;
  for (u32 t = 0; t < turns; ++t)
    for (u32 i = number(); i < n; i += gridDim.x * blockDim.x) {
      const float4 v = __ldcg(&from[i]);
      sum += v.x + v.y + v.z + v.w;
    }
  if (sum == 12345.0F) *to = sum;
}
__global__ void hamming(const u64* a, const u64* b, u32* to, u32 n) {
  const u32 i = number();
  if (i >= n) return;
  u32 sum = 0;
  for (u32 k = 0; k < 16; ++k)
    sum += __popcll(a[i] ^ b[k * 64 + threadIdx.x % 64]);
  to[i] = sum;
}
__global__ void hash(u32* to, u32 rounds) {
  u32 a = number(), b = 0x9E3779B9U, c = a ^ b;
  for (u32 r = 0; r < rounds; ++r) {
    a += b, c ^= a, c = c << 16 | c >> 16;
    b += c, a ^= b, a = a << 12 | a >> 20;
    c += a, b ^= c, b = b << 8 | b >> 24;
  }
  to[number()] = a + b + c;
}
__global__ void binary_search(const float* from, const u32* sorted, u32* to, u32 n) {
  const u32 i = number(), wanted = mixed(i) % (n * 3);
  u32 low = 0, high = n;
  while (low < high) {
    const u32 middle = (low + high) / 2;
    if (middle * 3 + static_cast<u32>(from[middle] + 2) / 8 + sorted[0] / n < wanted) low = middle + 1;
    else high = middle;
  }
  to[i] = low;
}
__global__ void hash_insert(u32* table, u32 n, u32 size) {
  const u32 i = number();
  if (i >= n) return;
  for (u32 at = mixed(i) % size;; at = (at + 1) % size) {
    const u32 before = atomicCAS(&table[at], 0U, i + 1);
    if (before == 0 || before == i + 1) return;
  }
}
/// 1,024 points per block of 256, radix 2, in shared memory.
__global__ void fft_1024(const float2* from, float2* to) {
  __shared__ float2 row[1024];
  for (u32 i = threadIdx.x; i < 1024; i += 256)
    row[__brev(i) >> 22] = from[u64{blockIdx.x} * 1024 + i];
  for (u32 half = 1; half < 1024; half *= 2) {
    __syncthreads();
    for (u32 i = threadIdx.x; i < 512; i += 256) {
      const u32 k = i % half, at = i / half * half * 2 + k;
      float s, c;
      __sincosf(-3.14159265F * k / half, &s, &c);
      const float2 x = row[at], y = row[at + half];
      const float2 z = make_float2(y.x * c - y.y * s, y.x * s + y.y * c);
      row[at] = make_float2(x.x + z.x, x.y + z.y);
      row[at + half] = make_float2(x.x - z.x, x.y - z.y);
    }
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < 1024; i += 256)
    to[u64{blockIdx.x} * 1024 + i] = row[i];
}
__global__ void nearest(const float4* points, const float4* centers, u32* to, u32 n) {
  __shared__ float4 own[64];
  if (threadIdx.x < 64) own[threadIdx.x] = centers[threadIdx.x];
  __syncthreads();
  const u32 i = number();
  if (i >= n) return;
  const float4 p = points[i];
  float best = 1e30F;
  u32 at = 0;
  for (u32 c = 0; c < 64; ++c) {
    const float dx = p.x - own[c].x, dy = p.y - own[c].y, dz = p.z - own[c].z, dw = p.w - own[c].w;
    const float d = dx * dx + dy * dy + dz * dz + dw * dw;
    if (d < best) best = d, at = c;
  }
  to[i] = at;
}
/// Ten barriers of the whole grid, by a counter in memory.
__global__ void grid_barriers(u32* counter, u32 turns) {
  for (u32 t = 0; t < turns; ++t) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      const u32 before = atomicAdd(counter, 1), goal = (before / gridDim.x + 1) * gridDim.x;
      while (static_cast<int>(*static_cast<volatile u32*>(counter) - goal) < 0) {}
      __threadfence();
    }
    __syncthreads();
  }
}
__global__ void relax(float* d, u32 n, u32 k) {
  const u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  d[y * n + x] = fminf(d[y * n + x], d[y * n + k] + d[k * n + x]);
}
__global__ void empty() {}

// ---- the list

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(code));
  std::exit(1);
}
template <typename T>
T* as(float* buffer) {
  return reinterpret_cast<T*>(buffer);
}
struct Case {
  const char* name;
  void (*launch)();
};
#define CASE(NAME, ...) {#NAME, [] { __VA_ARGS__; }}
constexpr u32 kKi = 1024, kMi = 1024 * 1024;
const dim3 kFlat(32, 8);

const Case kCases[] = {
    CASE(empty_1x1, empty<<<1, 1>>>()),
    CASE(empty_2112x1024, empty<<<2112, 1024>>>()),
    CASE(launches_32, for (int i = 0; i < 32; ++i) empty<<<8, 64>>>()),
    CASE(memset_4M, cudaMemsetAsync(out, 0, 4 * kMi)),
    CASE(memset_32M, cudaMemsetAsync(out, 1, 32 * kMi)),
    CASE(memset2d_1M, cudaMemset2DAsync(out, 8192, 0, 4096, 256)),
    CASE(memcpy_1K, cudaMemcpyAsync(out, in, kKi, cudaMemcpyDeviceToDevice)),
    CASE(memcpy_512K, cudaMemcpyAsync(out, in, 512 * kKi, cudaMemcpyDeviceToDevice)),
    CASE(memcpy_24M, cudaMemcpyAsync(out, in, 24 * kMi, cudaMemcpyDeviceToDevice)),
    CASE(reverse_byte_1M, reverse<<<4096, 256>>>(as<u8>(in), as<u8>(out), kMi)),
    CASE(reverse_float_8M, reverse<<<32768, 256>>>(in, out, 8 * kMi)),
    CASE(gather_index_64K, gather_index<<<256, 256>>>(in, places, out, 64 * kKi)),
    CASE(gather_index_4M, gather_index<<<16384, 256>>>(in, places, out, 4 * kMi)),
    CASE(scatter_index_64K, scatter_index<<<256, 256>>>(in, places, out, 64 * kKi)),
    CASE(scatter_index_4M, scatter_index<<<16384, 256>>>(in, places, out, 4 * kMi)),
    CASE(strided_both_4, strided_both<<<4096, 256>>>(in, out, kMi, 4)),
    CASE(strided_both_16, strided_both<<<4096, 256>>>(in, out, kMi, 16)),
    CASE(strided_both_32, strided_both<<<2048, 256>>>(in, out, 512 * kKi, 32)),
    CASE(transpose_conflicts_512, transpose_conflicts<<<dim3(16, 16), kFlat>>>(in, out, 512)),
    CASE(transpose_conflicts_4096, transpose_conflicts<<<dim3(128, 128), kFlat>>>(in, out, 4096)),
    CASE(transpose_bf16_2048, transpose_bf16<<<dim3(64, 64), kFlat>>>(as<bf16>(in), as<bf16>(out), 2048)),
    CASE(to_bf16_8M, to_bf16<<<8192, 256>>>(as<float4>(in), as<uint2>(out), 2 * kMi)),
    CASE(to_half_4M, to_half<<<16384, 256>>>(in, as<__half>(out), 4 * kMi)),
    CASE(from_bf16_256K, from_bf16<<<1024, 256>>>(as<bf16>(in), out, 256 * kKi)),
    CASE(from_bf16_8M, from_bf16<<<32768, 256>>>(as<bf16>(in), out, 8 * kMi)),
    CASE(quantize_4M, quantize<<<16384, 256>>>(in, as<signed char>(out), 4 * kMi, 127)),
    CASE(adam_2M, adam<<<8192, 256>>>(in, out, out + 4 * kMi, out + 8 * kMi, 2 * kMi)),
    CASE(gray_8M, gray<<<32768, 256>>>(as<uchar4>(in), as<u8>(out), 8 * kMi)),
    CASE(rope_64K, rope<<<256, 256>>>(as<__nv_bfloat162>(in), as<__nv_bfloat162>(out), kKi)),
    CASE(rope_4M, rope<<<16384, 256>>>(as<__nv_bfloat162>(in), as<__nv_bfloat162>(out), 64 * kKi)),
    CASE(scan_shuffle_256K, scan_shuffle<<<256, 256>>>(as<float4>(in), as<float4>(out), other)),
    CASE(scan_two_8M, scan_shuffle<<<8192, 256>>>(as<float4>(in), as<float4>(out), other);
         scan_add<<<8192, 256>>>(as<float4>(out), other)),
    CASE(max_at_64K, max_at<<<64, 256>>>(in, nullptr, out, as<u32>(other), 64 * kKi);
         max_at<<<1, 256>>>(out, as<u32>(other), out + 1024, as<u32>(other) + 1024, 64)),
    CASE(max_at_8M, max_at<<<1056, 256>>>(in, nullptr, out, as<u32>(other), 8 * kMi);
         max_at<<<1, 256>>>(out, as<u32>(other), out + 2048, as<u32>(other) + 2048, 1056)),
    CASE(sum_double_4M, sum_double<<<1056, 256>>>(as<double>(in), as<double>(out), 4 * kMi);
         sum_double<<<1, 256>>>(as<double>(out), as<double>(out) + 2048, 1056)),
    CASE(column_sums_256, column_sums<<<dim3(8, 8), kFlat>>>(in, out, 256, 256)),
    CASE(column_sums_2048, column_sums<<<dim3(64, 16), kFlat>>>(in, out, 2048, 2048)),
    CASE(compact_1M, compact<<<4096, 256>>>(in, out, table + kMi, kMi)),
    CASE(compact_8M, compact<<<32768, 256>>>(in, out, table + kMi, 8 * kMi)),
    CASE(histogram_warps_4M, histogram_warps<<<528, 256>>>(as<u8>(in), as<u32>(out), 4 * kMi)),
    CASE(histogram_wide_64K, histogram_wide<<<528, 256>>>(as<u32>(in), as<u32>(out), kMi, 64 * kKi)),
    CASE(bitonic_step_4M, bitonic_step<<<16384, 256>>>(out, 64, 128)),
    CASE(radix_count_4M, radix_count<<<2048, 256>>>(as<u32>(in), as<u32>(out), 8)),
    CASE(top_two_4K, top_two<<<512, 256>>>(in, as<float2>(out), as<uint2>(other))),
    CASE(top_two_128K, top_two<<<16384, 256>>>(in, as<float2>(out), as<uint2>(other))),
    CASE(softmax_passes_64x8192, softmax_passes<<<64, 128>>>(in, out, 8192)),
    CASE(softmax_passes_2048x4096, softmax_passes<<<2048, 128>>>(in, out, 4096)),
    CASE(add_rms_norm_32x8192, add_rms_norm<<<32, 1024>>>(as<bf16>(in), as<bf16>(other), as<bf16>(out), 8192)),
    CASE(add_rms_norm_4096x4096, add_rms_norm<<<4096, 256>>>(as<bf16>(in), as<bf16>(other), as<bf16>(out), 4096)),
    CASE(add_rms_norm_4096x8192, add_rms_norm<<<4096, 1024>>>(as<bf16>(in), as<bf16>(other), as<bf16>(out), 8192)),
    CASE(layer_norm_welford_8192, layer_norm_welford<<<1024, 256>>>(in, out)),
    CASE(silu_mul_256K, silu_mul<<<1024, 256>>>(halves, halves + 16 * kMi, as<bf16>(out), 256 * kKi)),
    CASE(silu_mul_16M, silu_mul<<<65536, 256>>>(halves, halves + 16 * kMi, as<bf16>(out), 16 * kMi)),
    CASE(cross_entropy_256x32K, cross_entropy<<<256, 256>>>(in, places, out, 32 * kKi)),
    CASE(stencil_9_1024, stencil_9<<<dim3(32, 128), kFlat>>>(in, out, 1024)),
    CASE(stencil_9_4096, stencil_9<<<dim3(128, 512), kFlat>>>(in, out, 4096)),
    CASE(stencil_27_160, stencil_27<<<dim3(5, 40, 160), dim3(32, 4)>>>(in, out, 160)),
    CASE(convolve_7x7_1024, convolve_7x7<<<dim3(64, 64), dim3(16, 16)>>>(in, out, 1024)),
    CASE(life_4096, life<<<dim3(128, 512), kFlat>>>(as<u8>(in), as<u8>(out), 4096)),
    CASE(pool_4096, pool_2x2<<<dim3(64, 256), kFlat>>>(in, out, 4096)),
    CASE(gemm_registers_256, gemm_registers<<<dim3(4, 4), 256>>>(in, other, out, 256)),
    CASE(gemm_registers_1024, gemm_registers<<<dim3(16, 16), 256>>>(in, other, out, 1024)),
    CASE(gemm_dp4a_512, gemm_dp4a<<<dim3(32, 32), dim3(16, 16)>>>(as<int>(in), as<int>(other), as<int>(out), 512)),
    CASE(gemm_double_tiled_512,
         gemm_double_tiled<<<dim3(32, 32), dim3(16, 16)>>>(as<double>(in), as<double>(other), as<double>(out), 512)),
    CASE(gemm_wmma_half_256, gemm_wmma_half<<<dim3(4, 2), 256>>>(as<__half>(in), as<__half>(other), as<__half>(out), 256)),
    CASE(gemm_wmma_half_1024,
         gemm_wmma_half<<<dim3(16, 8), 256>>>(as<__half>(in), as<__half>(other), as<__half>(out), 1024)),
    CASE(matvec_batched_4096, matvec_batched<<<4096, 64>>>(in, other, out)),
    CASE(gemm_batched_16K, gemm_batched_16<<<16384, dim3(16, 16)>>>(in, other, out)),
    CASE(outer_4096, outer<<<dim3(16, 4096), 256>>>(in, other, out, 4096)),
    CASE(spmv_rows_64K, spmv_rows<<<8192, 256>>>(in, places, other, out, 64 * kKi - 64)),
    CASE(attention_64, attention<<<32, 64>>>(as<float2>(in), as<float2>(other), as<float2>(other) + kMi, as<float2>(out), 512)),
    CASE(attention_4096,
         attention<<<512, 256>>>(as<float2>(in), as<float2>(other), as<float2>(other) + kMi, as<float2>(out), 256)),
    CASE(chase_1, chase<<<1, 1>>>(chain, as<u32>(out), 128)),
    CASE(chase_132x32, chase<<<132, 32>>>(chain, as<u32>(out), 64)),
    CASE(collatz_64K, collatz<<<256, 256>>>(as<u32>(out), 64 * kKi)),
    CASE(collatz_1M, collatz<<<4096, 256>>>(as<u32>(out), kMi)),
    CASE(transcendental_1M, transcendental<<<4096, 256>>>(in, out, kMi)),
    CASE(fused_multiply_32, fused_multiply<<<32, 128>>>(out, 1024)),
    CASE(fused_multiply_264, fused_multiply<<<264, 512>>>(out, 512)),
    CASE(half_multiply_264, half_multiply<<<264, 256>>>(as<__half2>(out), 256)),
    CASE(read_again_4M, read_again<<<528, 256>>>(as<float4>(in), out, 256 * kKi, 8)),
    CASE(read_again_24M, read_again<<<1056, 256>>>(as<float4>(in), out, 1536 * kKi, 3)),
    CASE(hamming_1M, hamming<<<4096, 256>>>(as<u64>(in), as<u64>(other), as<u32>(out), kMi)),
    CASE(hash_512K, hash<<<2048, 256>>>(as<u32>(out), 64)),
    CASE(binary_search_256K, binary_search<<<1024, 256>>>(in, places, as<u32>(out), 2 * kMi)),
    CASE(hash_insert_256K, hash_insert<<<1024, 256>>>(table, 256 * kKi, kMi)),
    CASE(fft_64, fft_1024<<<64, 256>>>(as<float2>(in), as<float2>(out))),
    CASE(fft_4096, fft_1024<<<4096, 256>>>(as<float2>(in), as<float2>(out))),
    CASE(nearest_256K, nearest<<<1024, 256>>>(as<float4>(in), as<float4>(other), as<u32>(out), 256 * kKi)),
    CASE(grid_barriers_132, grid_barriers<<<132, 128>>>(table + kMi + 64, 10)),
    CASE(relax_1024, relax<<<dim3(32, 128), kFlat>>>(other, 1024, 17)),
};

double launch_us(const Case& kernel, int repeat) {
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&stop));
  kernel.launch();  // Warm-up: the code is loaded, the caches are filled.
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  std::vector<float> times;
  for (int i = 0; i < repeat; ++i) {
    check(cudaEventRecord(start));
    kernel.launch();
    check(cudaEventRecord(stop));
    check(cudaEventSynchronize(stop));
    times.push_back(0);
    check(cudaEventElapsedTime(&times.back(), start, stop));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1000.0;
}

}  // namespace

int main(int argc, char** argv) {
  int repeat = 1;
  std::vector<const char*> names;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--repeat") == 0 && i + 1 < argc) {
      repeat = std::max(1, std::atoi(argv[++i]));
    } else {
      names.push_back(argv[i]);
    }
  }
  const auto wanted = [&](const char* name) {
    return names.empty() || std::any_of(names.begin(), names.end(), [&](const char* one) {
             return std::strcmp(one, name) == 0;
           });
  };
  u32 seed = 100;
  for (float** buffer : {&in, &other, &out}) {
    check(cudaMalloc(buffer, kBytes));
    fill<<<1056, 256>>>(*buffer, kBytes / 4, ++seed);
  }
  check(cudaMalloc(&halves, kBytes));
  fill_halves<<<1056, 256>>>(halves, 32 * kMi);
  check(cudaMalloc(&places, 16 * kMi));
  check(cudaMalloc(&chain, 16 * kMi));
  fill_places<<<1056, 256>>>(places, chain, 4 * kMi);
  check(cudaMalloc(&table, 4 * kMi + 1024));
  check(cudaMemset(table, 0, 4 * kMi + 1024));
  for (const Case& kernel : kCases) {
    if (!wanted(kernel.name)) continue;
    std::printf("%-28s %12.2f\n", kernel.name, launch_us(kernel, repeat));
    std::fflush(stdout);
  }
  return 0;
}
