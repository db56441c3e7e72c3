// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ordinary kernels, small and large: what programs are made of, to compare predicted with measured
/// times. (The ring of bench/sanity has the extraordinary ones.) Prints a name and the microseconds
/// of one launch, kernel by kernel; run.py measures and predicts.
///
///   kernels [--repeat N] [name...]      the median of N launches (default 1) after a warm-up
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using bf16 = __nv_bfloat16;

constexpr u64 kBytes = u64{64} << 20;  ///< Of each buffer: more than L2 holds.
float *in = nullptr, *other = nullptr, *out = nullptr;

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

// ---- launches, copies, elementwise

__global__ void empty() {}

template <typename T>
__global__ void copy(const T* from, T* to, u32 n) {
  const u32 i = number();
  if (i < n) to[i] = from[i];
}
template <typename T>
__global__ void copy_persistent(const T* from, T* to, u32 n) {
  for (u32 i = number(); i < n; i += gridDim.x * blockDim.x)
    to[i] = from[i];
}
__global__ void write(float4* to, u32 n) {
  const u32 i = number();
  if (i < n) to[i] = make_float4(1, 2, 3, 4);
}
__global__ void read(const float4* from, float* to, u32 n) {
  float sum = 0;
  for (u32 i = number(); i < n; i += gridDim.x * blockDim.x) {
    const float4 v = from[i];
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == 12345.0F) *to = sum;
}
__global__ void saxpy(float a, const float* x, float* y, u32 n) {
  const u32 i = number();
  if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void daxpy(double a, const double* x, double* y, u32 n) {
  const u32 i = number();
  if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void gelu(const float* x, float* y, u32 n) {
  const u32 i = number();
  if (i < n)
    y[i] = 0.5F * x[i] * (1 + tanhf(0.79788456F * (x[i] + 0.044715F * x[i] * x[i] * x[i])));
}
__global__ void add_bf16(const __nv_bfloat162* a,
                         const __nv_bfloat162* b,
                         __nv_bfloat162* c,
                         u32 n) {
  const u32 i = number();
  if (i < n) c[i] = __hadd2(a[i], b[i]);
}
__global__ void strided(const float* from, float* to, u32 n, u32 stride) {
  const u32 i = number();
  if (i < n) to[i] = from[u64{i} * stride % (kBytes / 4)];
}
__global__ void gather(const float* from, float* to, u32 n, u32 range) {
  const u32 i = number();
  if (i < n) to[i] = from[mixed(i) % range];
}
__global__ void scatter(const float* from, float* to, u32 n, u32 range) {
  const u32 i = number();
  if (i < n) to[mixed(i) % range] = from[i];
}
/// A row of `width` float4 per warp, from anywhere: an embedding.
__global__ void gather_rows(const float4* from, float4* to, u32 rows, u32 width, u32 table) {
  const u32 row = number() / 32;
  if (row >= rows) return;
  const u64 source = mixed(row) % table;
  for (u32 i = threadIdx.x % 32; i < width; i += 32)
    to[u64{row} * width + i] = from[source * width + i];
}

// ---- transposes

__global__ void transpose_naive(const float* from, float* to, u32 n) {
  const u32 x = blockIdx.x * 32 + threadIdx.x;
  const u32 y = blockIdx.y * 32 + threadIdx.y;
  for (u32 j = 0; j < 32; j += 8)
    to[u64{x} * n + y + j] = from[u64{y + j} * n + x];
}
__global__ void transpose_tiled(const float* from, float* to, u32 n) {
  __shared__ float tile[32][33];
  for (u32 j = threadIdx.y; j < 32; j += 8)
    tile[j][threadIdx.x] = from[u64{blockIdx.y * 32 + j} * n + blockIdx.x * 32 + threadIdx.x];
  __syncthreads();
  for (u32 j = threadIdx.y; j < 32; j += 8)
    to[u64{blockIdx.x * 32 + j} * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][j];
}

// ---- reductions, scans, histograms

__device__ float warp_sum(float v) {
  for (int step = 16; step > 0; step /= 2)
    v += __shfl_xor_sync(~0U, v, step);
  return v;
}
/// Of 256 threads; all get it.
__device__ float block_sum(float v) {
  __shared__ float parts[8];
  v = warp_sum(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  float sum = 0;
  for (const float part : parts)
    sum += part;
  return sum;
}
__global__ void reduce(const float* from, float* to, u32 n) {
  float sum = 0;
  for (u32 i = number(); i < n; i += gridDim.x * blockDim.x)
    sum += from[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(to, sum);
}
/// The way of the textbook: one element per thread, a tree in shared memory.
__global__ void reduce_tree(const float* from, float* to) {
  __shared__ float parts[256];
  parts[threadIdx.x] = from[number()];
  for (u32 step = 128; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) parts[threadIdx.x] += parts[threadIdx.x + step];
  }
  if (threadIdx.x == 0) to[blockIdx.x] = parts[0];
}
__global__ void reduce_atomic(const float* from, float* to, u32 n) {
  const u32 i = number();
  if (i < n) atomicAdd(to, from[i]);
}
__global__ void dot(const float4* a, const float4* b, float* to, u32 n) {
  float sum = 0;
  for (u32 i = number(); i < n; i += gridDim.x * blockDim.x) {
    const float4 x = a[i];
    const float4 y = b[i];
    sum += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(to, sum);
}
__global__ void count_positive(const float* from, u32* to, u32 n) {
  const u32 i = number();
  if (i < n && from[i] > 0) atomicAdd(to, 1);
}
__global__ void histogram_global(const u8* from, u32* bins, u32 n) {
  for (u32 i = number(); i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[from[i]], 1);
}
__global__ void histogram_shared(const u8* from, u32* bins, u32 n) {
  __shared__ u32 own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (u32 i = number(); i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&own[from[i]], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
/// Of 1,024 elements per block, in shared memory.
__global__ void scan(const float* from, float* to) {
  __shared__ float row[2][1024];
  const u32 t = threadIdx.x;
  row[0][t] = from[number()];
  u32 now = 0;
  for (u32 step = 1; step < 1024; step *= 2, now ^= 1) {
    __syncthreads();
    row[now ^ 1][t] = row[now][t] + (t >= step ? row[now][t - step] : 0);
  }
  to[number()] = row[now][t];
}
__global__ void bitonic_sort(const float* from, float* to) {
  __shared__ float row[1024];
  const u32 t = threadIdx.x;
  row[t] = from[number()];
  for (u32 size = 2; size <= 1024; size *= 2) {
    for (u32 step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      const u32 peer = t ^ step;
      if (peer > t && (row[t] > row[peer]) == ((t & size) == 0)) {
        const float swap = row[t];
        row[t] = row[peer];
        row[peer] = swap;
      }
    }
  }
  __syncthreads();
  to[number()] = row[t];
}

// ---- rows: softmax, norms, arg max

__global__ void softmax(const float* from, float* to, u32 width) {
  from += u64{blockIdx.x} * width;
  to += u64{blockIdx.x} * width;
  float sum = 0;
  for (u32 i = threadIdx.x; i < width; i += 256)
    sum += __expf(from[i]);
  const float scale = 1 / block_sum(sum);
  for (u32 i = threadIdx.x; i < width; i += 256)
    to[i] = __expf(from[i]) * scale;
}
/// A warp per row of 256, in registers.
__global__ void softmax_warp(const float* from, float* to) {
  const u64 row = u64{number() / 32} * 256 + threadIdx.x % 32;
  float v[8], top = -1e30F, sum = 0;
  for (u32 i = 0; i < 8; ++i)
    top = fmaxf(top, v[i] = from[row + 32 * i]);
  for (int step = 16; step > 0; step /= 2)
    top = fmaxf(top, __shfl_xor_sync(~0U, top, step));
  for (float& x : v)
    sum += x = expf(x - top);
  sum = warp_sum(sum);
  for (u32 i = 0; i < 8; ++i)
    to[row + 32 * i] = v[i] / sum;
}
__global__ void layer_norm(const float* from, float* to, u32 width) {
  from += u64{blockIdx.x} * width;
  to += u64{blockIdx.x} * width;
  float sum = 0, squares = 0;
  for (u32 i = threadIdx.x; i < width; i += 256) {
    sum += from[i];
    squares += from[i] * from[i];
  }
  const float mean = block_sum(sum) / width;
  const float scale = rsqrtf(block_sum(squares) / width - mean * mean + 1e-5F);
  for (u32 i = threadIdx.x; i < width; i += 256)
    to[i] = (from[i] - mean) * scale;
}
__global__ void rms_norm_bf16(const __nv_bfloat162* from, __nv_bfloat162* to, u32 pairs) {
  from += u64{blockIdx.x} * pairs;
  to += u64{blockIdx.x} * pairs;
  float squares = 0;
  for (u32 i = threadIdx.x; i < pairs; i += 256) {
    const float2 v = __bfloat1622float2(from[i]);
    squares += v.x * v.x + v.y * v.y;
  }
  const float scale = rsqrtf(block_sum(squares) / (2 * pairs) + 1e-5F);
  for (u32 i = threadIdx.x; i < pairs; i += 256) {
    const float2 v = __bfloat1622float2(from[i]);
    to[i] = __floats2bfloat162_rn(v.x * scale, v.y * scale);
  }
}
__global__ void arg_max(const float* from, u32* to, u32 width) {
  from += u64{number() / 32} * width;
  float best = -1e30F;
  u32 at = 0;
  for (u32 i = threadIdx.x % 32; i < width; i += 32) {
    if (from[i] > best) {
      best = from[i];
      at = i;
    }
  }
  for (int step = 16; step > 0; step /= 2) {
    const float rival = __shfl_xor_sync(~0U, best, step);
    const u32 place = __shfl_xor_sync(~0U, at, step);
    if (rival > best) {
      best = rival;
      at = place;
    }
  }
  if (threadIdx.x % 32 == 0) to[number() / 32] = at;
}

// ---- stencils

__global__ void stencil_1d(const float* from, float* to, u32 n) {
  const u32 i = number();
  if (i < 3 || i + 3 >= n) return;
  float sum = 0;
  for (int d = -3; d <= 3; ++d)
    sum += from[i + d];
  to[i] = sum;
}
__global__ void stencil_2d(const float* from, float* to, u32 n) {
  const u32 x = blockIdx.x * 32 + threadIdx.x;
  const u32 y = blockIdx.y * 8 + threadIdx.y;
  if (x == 0 || y == 0 || x + 1 >= n || y + 1 >= n) return;
  const u64 at = u64{y} * n + x;
  to[at] = 0.2F * (from[at] + from[at - 1] + from[at + 1] + from[at - n] + from[at + n]);
}
__global__ void stencil_2d_tiled(const float* from, float* to, u32 n) {
  __shared__ float tile[10][34];
  const u32 x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
  for (u32 i = threadIdx.y * 32 + threadIdx.x; i < 340; i += 256) {
    const u32 x = x0 + i % 34, y = y0 + i / 34;
    tile[i / 34][i % 34] = x < n && y < n ? from[u64{y} * n + x] : 0;
  }
  __syncthreads();
  const u32 x = threadIdx.x + 1, y = threadIdx.y + 1;
  if (x0 + x < n && y0 + y < n)
    to[u64{y0 + y} * n + x0 + x] =
        0.2F * (tile[y][x] + tile[y][x - 1] + tile[y][x + 1] + tile[y - 1][x] + tile[y + 1][x]);
}
__global__ void stencil_3d(const float* from, float* to, u32 n) {
  const u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
  if (x == 0 || y == 0 || z == 0 || x + 1 >= n || y + 1 >= n || z + 1 >= n) return;
  const u64 at = (u64{z} * n + y) * n + x, plane = u64{n} * n;
  to[at] = from[at - 1] + from[at + 1] + from[at - n] + from[at + n] + from[at - plane] +
           from[at + plane] - 6 * from[at];
}

// ---- matrices

__global__ void gemv(const float4* a, const float4* x, float* y, u32 rows, u32 width) {
  const u32 row = number() / 32;
  if (row >= rows) return;
  float sum = 0;
  for (u32 i = threadIdx.x % 32; i < width; i += 32) {
    const float4 v = a[u64{row} * width + i];
    const float4 w = x[i];
    sum += v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w;
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}
/// 16 elements per row, anywhere: a thread per row.
__global__ void spmv(const float* values, const float* x, float* y, u32 rows) {
  const u32 row = number();
  if (row >= rows) return;
  float sum = 0;
  for (u32 i = 0; i < 16; ++i)
    sum += values[u64{row} * 16 + i] * x[mixed(row * 16 + i) % rows];
  y[row] = sum;
}
template <typename T>
__global__ void gemm_naive(const T* a, const T* b, T* c, u32 n) {
  const u32 row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  T sum = 0;
  for (u32 k = 0; k < n; ++k)
    sum += a[u64{row} * n + k] * b[u64{k} * n + col];
  c[u64{row} * n + col] = sum;
}
__global__ void gemm_tiled(const float* a, const float* b, float* c, u32 n) {
  __shared__ float ta[16][16], tb[16][16];
  const u32 x = threadIdx.x, y = threadIdx.y;
  const u64 row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  float sum = 0;
  for (u32 k0 = 0; k0 < n; k0 += 16) {
    ta[y][x] = a[row * n + k0 + x];
    tb[y][x] = b[(k0 + y) * u64{n} + col];
    __syncthreads();
    for (u32 k = 0; k < 16; ++k)
      sum += ta[y][k] * tb[k][x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}
/// A warp per 16 x 16, straight from global memory.
__global__ void gemm_wmma_naive(const bf16* a, const bf16* b, float* c, u32 n) {
  using namespace nvcuda;
  const u32 warp = number() / 32, row = warp / (n / 16) * 16, col = warp % (n / 16) * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0F);
  for (u32 k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(fa, a + u64{row} * n + k, n);
    wmma::load_matrix_sync(fb, b + u64{k} * n + col, n);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::store_matrix_sync(c + u64{row} * n + col, sum, n, wmma::mem_row_major);
}
/// 64 x 64 per block of four warps, two stages in shared memory.
__global__ void __launch_bounds__(128) gemm_wmma(const bf16* a, const bf16* b, float* c, u32 n) {
  using namespace nvcuda;
  __shared__ __align__(16) bf16 ta[2][64][40], tb[2][32][72];
  const u32 t = threadIdx.x, row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  const u32 warp_row = t / 64 * 32, warp_col = t / 32 % 2 * 32;
  const auto fetch = [&](u32 k0, u32 stage) {
    for (u32 i = t; i < 256; i += 128) {
      __pipeline_memcpy_async(&ta[stage][i / 4][i % 4 * 8],
                              &a[u64{row0 + i / 4} * n + k0 + i % 4 * 8], 16);
      __pipeline_memcpy_async(&tb[stage][i / 8][i % 8 * 8],
                              &b[u64{k0 + i / 8} * n + col0 + i % 8 * 8], 16);
    }
    __pipeline_commit();
  };
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
  for (auto& row : sum)
    for (auto& one : row)
      wmma::fill_fragment(one, 0.0F);
  fetch(0, 0);
  for (u32 k0 = 0, stage = 0; k0 < n; k0 += 32, stage ^= 1) {
    if (k0 + 32 < n) fetch(k0 + 32, stage ^ 1);
    __pipeline_wait_prior(k0 + 32 < n ? 1 : 0);
    __syncthreads();
    for (u32 d = 0; d < 32; d += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> fa[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::row_major> fb[2];
      for (u32 i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(fa[i], &ta[stage][warp_row + 16 * i][d], 40);
        wmma::load_matrix_sync(fb[i], &tb[stage][d][warp_col + 16 * i], 72);
      }
      for (u32 i = 0; i < 2; ++i)
        for (u32 j = 0; j < 2; ++j)
          wmma::mma_sync(sum[i][j], fa[i], fb[j], sum[i][j]);
    }
    __syncthreads();
  }
  for (u32 i = 0; i < 2; ++i)
    for (u32 j = 0; j < 2; ++j)
      wmma::store_matrix_sync(&c[u64{row0 + warp_row + 16 * i} * n + col0 + warp_col + 16 * j],
                              sum[i][j], n, wmma::mem_row_major);
}
/// mma.sync alone, operands in registers: a warp's products depend on each other in chains of four.
__global__ void mma_registers(float* to, u32 turns) {
  float sum[4][4] = {};
  const u32 a = threadIdx.x, b = blockIdx.x;
  for (u32 t = 0; t < turns; ++t) {
    for (auto& c : sum) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%4,%5}, "
          "{%5,%4}, {%0,%1,%2,%3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a), "r"(b));
    }
  }
  if (sum[0][0] + sum[1][1] + sum[2][2] + sum[3][3] == 12345.0F) *to = 1;
}

// ---- arithmetic

__global__ void mandelbrot(u32* to, u32 n) {
  const u32 x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  const float cr = 3.0F * x / n - 2.2F, ci = 2.6F * y / n - 1.3F;
  float zr = 0, zi = 0;
  u32 turns = 0;
  for (; turns < 256 && zr * zr + zi * zi < 4; ++turns) {
    const float next = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = next;
  }
  to[y * n + x] = turns;
}
__global__ void bodies(const float4* all, float4* to, u32 n) {
  __shared__ float4 tile[256];
  const float4 me = all[number()];
  float3 force = make_float3(0, 0, 0);
  for (u32 first = 0; first < n; first += 256) {
    tile[threadIdx.x] = all[first + threadIdx.x];
    __syncthreads();
    for (const float4& one : tile) {
      const float dx = one.x - me.x, dy = one.y - me.y, dz = one.z - me.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3F);
      const float pull = one.w * inverse * inverse * inverse;
      force.x += dx * pull;
      force.y += dy * pull;
      force.z += dz * pull;
    }
    __syncthreads();
  }
  to[number()] = make_float4(force.x, force.y, force.z, 0);
}
__global__ void black_scholes(const float* price, const float* strike, float* to, u32 n) {
  const u32 i = number();
  if (i >= n) return;
  const float s = 10 + 5 * price[i], k = 10 + 5 * strike[i];
  const float d = (__logf(s / k) + 0.06F) / 0.3F;
  to[i] = s * normcdff(d) - k * __expf(-0.02F) * normcdff(d - 0.3F);
}
__global__ void random_walk(float* to, u32 turns) {
  u32 state = mixed(number());
  float at = 0;
  for (u32 t = 0; t < turns; ++t) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    at += static_cast<int>(state) * 4.6566129e-10F;
  }
  to[number()] = at;
}

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

const Case kCases[] = {
    CASE(empty_1, empty<<<1, 32>>>()),
    CASE(empty_132, empty<<<132, 256>>>()),
    CASE(empty_16k, empty<<<16384, 256>>>()),
    CASE(launches_8, for (int i = 0; i < 8; ++i) empty<<<1, 32>>>()),
    CASE(memset_64K, cudaMemsetAsync(out, 0, 64 * kKi)),
    CASE(memset_16M, cudaMemsetAsync(out, 0, 16 * kMi)),
    CASE(memset_64M, cudaMemsetAsync(out, 0, 64 * kMi)),
    CASE(memcpy_64K, cudaMemcpyAsync(out, in, 64 * kKi, cudaMemcpyDeviceToDevice)),
    CASE(memcpy_4M, cudaMemcpyAsync(out, in, 4 * kMi, cudaMemcpyDeviceToDevice)),
    CASE(memcpy_64M, cudaMemcpyAsync(out, in, 64 * kMi, cudaMemcpyDeviceToDevice)),
    CASE(copy_float4_256K, copy<<<64, 256>>>(as<float4>(in), as<float4>(out), 16 * kKi)),
    CASE(copy_float4_4M, copy<<<1024, 256>>>(as<float4>(in), as<float4>(out), 256 * kKi)),
    CASE(copy_float4_64M, copy<<<16384, 256>>>(as<float4>(in), as<float4>(out), 4 * kMi)),
    CASE(copy_float_4M, copy<<<4096, 256>>>(in, out, kMi)),
    CASE(copy_float_64M, copy<<<65536, 256>>>(in, out, 16 * kMi)),
    CASE(copy_byte_4M, copy<<<16384, 256>>>(as<u8>(in), as<u8>(out), 4 * kMi)),
    CASE(copy_persistent_32M,
         copy_persistent<<<1056, 256>>>(as<float4>(in), as<float4>(out), 2 * kMi)),
    CASE(write_32M, write<<<8192, 256>>>(as<float4>(out), 2 * kMi)),
    CASE(read_32M, read<<<1056, 256>>>(as<float4>(in), out, 2 * kMi)),
    CASE(saxpy_1M, saxpy<<<4096, 256>>>(1e-6F, in, out, kMi)),
    CASE(saxpy_16M, saxpy<<<65536, 256>>>(1e-6F, in, out, 16 * kMi)),
    CASE(daxpy_4M, daxpy<<<16384, 256>>>(1e-6, as<double>(in), as<double>(out), 4 * kMi)),
    CASE(gelu_4M, gelu<<<16384, 256>>>(in, out, 4 * kMi)),
    CASE(add_bf16_8M,
         add_bf16<<<16384, 256>>>(
             as<__nv_bfloat162>(in), as<__nv_bfloat162>(other), as<__nv_bfloat162>(out), 4 * kMi)),
    CASE(strided_2, strided<<<4096, 256>>>(in, out, kMi, 2)),
    CASE(strided_8, strided<<<4096, 256>>>(in, out, kMi, 8)),
    CASE(strided_64, strided<<<1024, 256>>>(in, out, 256 * kKi, 64)),
    CASE(strided_2048, strided<<<1024, 256>>>(in, out, 256 * kKi, 2048 + 1)),
    CASE(gather_L2, gather<<<4096, 256>>>(in, out, kMi, 2 * kMi)),
    CASE(gather_HBM, gather<<<4096, 256>>>(in, out, kMi, 16 * kMi)),
    CASE(scatter_HBM, scatter<<<4096, 256>>>(in, out, kMi, 16 * kMi)),
    CASE(gather_rows_512,
         gather_rows<<<2048, 256>>>(as<float4>(in), as<float4>(out), 16 * kKi, 32, 128 * kKi)),
    CASE(transpose_naive_512, transpose_naive<<<dim3(16, 16), dim3(32, 8)>>>(in, out, 512)),
    CASE(transpose_naive_2048, transpose_naive<<<dim3(64, 64), dim3(32, 8)>>>(in, out, 2048)),
    CASE(transpose_naive_4096, transpose_naive<<<dim3(128, 128), dim3(32, 8)>>>(in, out, 4096)),
    CASE(transpose_tiled_512, transpose_tiled<<<dim3(16, 16), dim3(32, 8)>>>(in, out, 512)),
    CASE(transpose_tiled_2048, transpose_tiled<<<dim3(64, 64), dim3(32, 8)>>>(in, out, 2048)),
    CASE(transpose_tiled_4096, transpose_tiled<<<dim3(128, 128), dim3(32, 8)>>>(in, out, 4096)),
    CASE(reduce_64K, reduce<<<64, 256>>>(in, out, 64 * kKi)),
    CASE(reduce_4M, reduce<<<1024, 256>>>(in, out, 4 * kMi)),
    CASE(reduce_16M, reduce<<<1056, 256>>>(in, out, 16 * kMi)),
    CASE(reduce_tree_4M, reduce_tree<<<16384, 256>>>(in, out)),
    CASE(reduce_atomic_64K, reduce_atomic<<<256, 256>>>(in, out, 64 * kKi)),
    CASE(dot_1M, dot<<<264, 256>>>(as<float4>(in), as<float4>(other), out, 256 * kKi)),
    CASE(dot_16M, dot<<<1056, 256>>>(as<float4>(in), as<float4>(other), out, 4 * kMi)),
    CASE(count_positive_1M, count_positive<<<4096, 256>>>(in, as<u32>(out), kMi)),
    CASE(histogram_global_1M, histogram_global<<<528, 256>>>(as<u8>(in), as<u32>(out), kMi)),
    CASE(histogram_shared_1M, histogram_shared<<<264, 256>>>(as<u8>(in), as<u32>(out), kMi)),
    CASE(histogram_shared_16M, histogram_shared<<<528, 256>>>(as<u8>(in), as<u32>(out), 16 * kMi)),
    CASE(scan_64K, scan<<<64, 1024>>>(in, out)),
    CASE(scan_2M, scan<<<2048, 1024>>>(in, out)),
    CASE(bitonic_sort_64K, bitonic_sort<<<64, 1024>>>(in, out)),
    CASE(bitonic_sort_1M, bitonic_sort<<<1024, 1024>>>(in, out)),
    CASE(softmax_128x1024, softmax<<<128, 256>>>(in, out, 1024)),
    CASE(softmax_4096x1024, softmax<<<4096, 256>>>(in, out, 1024)),
    CASE(softmax_warp_16384x256, softmax_warp<<<2048, 256>>>(in, out)),
    CASE(layer_norm_64x4096, layer_norm<<<64, 256>>>(in, out, 4096)),
    CASE(layer_norm_4096x1024, layer_norm<<<4096, 256>>>(in, out, 1024)),
    CASE(rms_norm_bf16_64x8192,
         rms_norm_bf16<<<64, 256>>>(as<__nv_bfloat162>(in), as<__nv_bfloat162>(out), 4096)),
    CASE(rms_norm_bf16_2048x4096,
         rms_norm_bf16<<<2048, 256>>>(as<__nv_bfloat162>(in), as<__nv_bfloat162>(out), 2048)),
    CASE(arg_max_4096x1024, arg_max<<<512, 256>>>(in, as<u32>(out), 1024)),
    CASE(stencil_1d_4M, stencil_1d<<<16384, 256>>>(in, out, 4 * kMi)),
    CASE(stencil_2d_512, stencil_2d<<<dim3(16, 64), dim3(32, 8)>>>(in, out, 512)),
    CASE(stencil_2d_4096, stencil_2d<<<dim3(128, 512), dim3(32, 8)>>>(in, out, 4096)),
    CASE(stencil_2d_tiled_2048, stencil_2d_tiled<<<dim3(64, 256), dim3(32, 8)>>>(in, out, 2048)),
    CASE(stencil_3d_128, stencil_3d<<<dim3(4, 16, 128), dim3(32, 8)>>>(in, out, 128)),
    CASE(stencil_3d_256, stencil_3d<<<dim3(8, 32, 256), dim3(32, 8)>>>(in, out, 256)),
    CASE(gemv_512, gemv<<<64, 256>>>(as<float4>(in), as<float4>(other), out, 512, 128)),
    CASE(gemv_4096, gemv<<<512, 256>>>(as<float4>(in), as<float4>(other), out, 4096, 1024)),
    CASE(spmv_256K, spmv<<<1024, 256>>>(in, other, out, 256 * kKi)),
    CASE(gemm_naive_128, gemm_naive<<<dim3(8, 8), dim3(16, 16)>>>(in, other, out, 128)),
    CASE(gemm_naive_512, gemm_naive<<<dim3(32, 32), dim3(16, 16)>>>(in, other, out, 512)),
    CASE(gemm_naive_double_256,
         gemm_naive<<<dim3(16, 16), dim3(16, 16)>>>(
             as<double>(in), as<double>(other), as<double>(out), 256)),
    CASE(gemm_tiled_256, gemm_tiled<<<dim3(16, 16), dim3(16, 16)>>>(in, other, out, 256)),
    CASE(gemm_tiled_1024, gemm_tiled<<<dim3(64, 64), dim3(16, 16)>>>(in, other, out, 1024)),
    CASE(gemm_wmma_naive_128,
         gemm_wmma_naive<<<16, 128>>>(as<bf16>(in), as<bf16>(other), out, 128)),
    CASE(gemm_wmma_naive_512,
         gemm_wmma_naive<<<256, 128>>>(as<bf16>(in), as<bf16>(other), out, 512)),
    CASE(gemm_wmma_256, gemm_wmma<<<dim3(4, 4), 128>>>(as<bf16>(in), as<bf16>(other), out, 256)),
    CASE(gemm_wmma_1024,
         gemm_wmma<<<dim3(16, 16), 128>>>(as<bf16>(in), as<bf16>(other), out, 1024)),
    CASE(gemm_wmma_2048,
         gemm_wmma<<<dim3(32, 32), 128>>>(as<bf16>(in), as<bf16>(other), out, 2048)),
    CASE(mma_registers_1, mma_registers<<<1, 128>>>(out, 256)),
    CASE(mma_registers_264, mma_registers<<<264, 256>>>(out, 256)),
    CASE(mandelbrot_512, mandelbrot<<<dim3(32, 32), dim3(16, 16)>>>(as<u32>(out), 512)),
    CASE(bodies_4096, bodies<<<16, 256>>>(as<float4>(in), as<float4>(out), 4096)),
    CASE(black_scholes_4M, black_scholes<<<16384, 256>>>(in, other, out, 4 * kMi)),
    CASE(random_walk_64K, random_walk<<<256, 256>>>(out, 256)),
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
  u32 seed = 0;
  for (float** buffer : {&in, &other, &out}) {
    check(cudaMalloc(buffer, kBytes));
    fill<<<1056, 256>>>(*buffer, kBytes / 4, ++seed);
  }
  for (const Case& kernel : kCases) {
    if (!wanted(kernel.name)) continue;
    std::printf("%-24s %12.2f\n", kernel.name, launch_us(kernel, repeat));
    std::fflush(stdout);
  }
  return 0;
}
