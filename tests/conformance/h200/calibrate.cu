// SPDX-License-Identifier: Apache-2.0
/// \file
/// Measures the rates that the virtual GPU's time model needs and prints them as JSON.
/// Cycles are SM clocks (clock64); times are in the unit of the key's suffix. Medians of several runs.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

bool first_field = true;
void field(const std::string& key, double value) {
  std::printf("%s\n  \"%s\": %.6g", first_field ? "" : ",", key.c_str(), value);
  first_field = false;
}

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  std::exit(1);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Milliseconds of GPU time of what `work` enqueues, median of 7 after a warm-up.
double gpu_ms(const std::function<void()>& work) {
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  work();
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    cudaEventRecord(start);
    work();
    cudaEventRecord(stop);
    check(cudaEventSynchronize(stop), "event");
    float ms = 0;
    cudaEventElapsedTime(&ms, start, stop);
    times.push_back(ms);
  }
  return median(times);
}

double host_us(const std::function<void()>& work, int turns) {
  work();
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (int t = 0; t < turns; ++t) work();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / turns);
  }
  return median(times);
}

constexpr int kTurns = 64;
constexpr int kUnroll = 16;

// A chain of dependent instructions (CHAINS = 1), or 4 independent ones, in every thread.
#define INSTRUCTION(NAME, TYPE, CONSTRAINT, ASM)                                                   \
  template <int Chains>                                                                            \
  __global__ void NAME(u64* cycles, TYPE* sink, TYPE a, TYPE b) {                                  \
    TYPE x[Chains];                                                                                \
    for (int c = 0; c < Chains; ++c) x[c] = a + static_cast<TYPE>(threadIdx.x + c);                \
    __syncthreads();                                                                               \
    const u64 begin = clock64();                                                                   \
    for (int t = 0; t < kTurns; ++t) {                                                             \
      _Pragma("unroll") for (int u = 0; u < kUnroll; ++u) {                                        \
        _Pragma("unroll") for (int c = 0; c < Chains; ++c) {                                       \
          asm volatile(ASM : "+" CONSTRAINT(x[c]) : CONSTRAINT(a), CONSTRAINT(b));                 \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    __syncthreads();                                                                               \
    const u64 end = clock64();                                                                     \
    TYPE sum = 0;                                                                                  \
    for (int c = 0; c < Chains; ++c) sum += x[c];                                                  \
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;                                             \
    if (threadIdx.x == 0) cycles[blockIdx.x] = end - begin;                                        \
  }

INSTRUCTION(fma_f32, float, "f", "fma.rn.f32 %0, %0, %1, %2;")
INSTRUCTION(add_f32, float, "f", "add.rz.f32 %0, %0, %1;")
INSTRUCTION(fma_f64, double, "d", "fma.rn.f64 %0, %0, %1, %2;")
INSTRUCTION(fma_f16x2, u32, "r", "fma.rn.f16x2 %0, %0, %1, %2;")
INSTRUCTION(fma_bf16x2, u32, "r", "fma.rn.bf16x2 %0, %0, %1, %2;")
// Chains of one instruction with itself are folded by ptxas; those are measured in pairs.
INSTRUCTION(add_s32_and_lop3, u32, "r", "add.u32 %0, %0, %1; xor.b32 %0, %0, %2;")
INSTRUCTION(mad_s32, u32, "r", "mad.lo.u32 %0, %0, %1, %2;")
INSTRUCTION(mad_wide, u64, "l", "{.reg .u32 t, s; cvt.u32.u64 t, %0; cvt.u32.u64 s, %1; mad.wide.u32 %0, t, s, %2;}")
INSTRUCTION(add_s64, u64, "l", "add.u64 %0, %0, %1;")
INSTRUCTION(lop3_b32, u32, "r", "lop3.b32 %0, %0, %1, %2, 0x96;")
INSTRUCTION(shl_b32, u32, "r", "shf.l.wrap.b32 %0, %0, %1, %2;")
INSTRUCTION(prmt_b32, u32, "r", "prmt.b32 %0, %0, %1, %2;")
INSTRUCTION(popc_b32, u32, "r", "popc.b32 %0, %0;")
INSTRUCTION(min_s32_and_add, u32, "r", "min.s32 %0, %0, %1; add.u32 %0, %0, %2;")
INSTRUCTION(div_u32, u32, "r", "div.u32 %0, %1, %0;")
INSTRUCTION(selp_b32, u32, "r", "{.reg .pred p; setp.lt.u32 p, %0, %1; selp.u32 %0, %2, %1, p;}")
INSTRUCTION(ex2_f32, float, "f", "ex2.approx.ftz.f32 %0, %0;")
INSTRUCTION(rcp_f32_and_add, float, "f", "rcp.approx.ftz.f32 %0, %0; add.f32 %0, %0, %1;")
INSTRUCTION(rsqrt_f32, float, "f", "rsqrt.approx.ftz.f32 %0, %0;")
INSTRUCTION(sin_f32, float, "f", "sin.approx.ftz.f32 %0, %0;")
INSTRUCTION(div_rn_f32, float, "f", "div.rn.f32 %0, %1, %0;")
INSTRUCTION(cvt_f32_s32, u32, "r", "{.reg .f32 t; cvt.rn.f32.u32 t, %0; mov.b32 %0, t;}")
INSTRUCTION(cvt_f16_f32, u32, "r", "{.reg .b16 t; .reg .f32 s; mov.b32 s, %0; cvt.rn.f16.f32 t, s; mov.b32 %0, {t, t};}")
INSTRUCTION(shfl_b32, u32, "r", "shfl.sync.bfly.b32 %0, %0, 1, 31, -1;")
INSTRUCTION(ballot, u32, "r", "{.reg .pred p; setp.ne.u32 p, %0, 0; vote.sync.ballot.b32 %0, p, -1;}")
INSTRUCTION(redux, u32, "r", "redux.sync.add.s32 %0, %0, -1;")

template <typename T>
void instruction(const char* name, void (*one)(u64*, T*, T, T), void (*four)(u64*, T*, T, T), u64* cycles, void* sink) {
  const double count = kTurns * kUnroll;
  u64 best = ~0ULL;
  u64 value = 0;
  for (int i = 0; i < 5; ++i) {
    one<<<1, 32>>>(cycles, static_cast<T*>(sink), T(3), T(5));
    cudaMemcpy(&value, cycles, 8, cudaMemcpyDeviceToHost);
    best = std::min(best, value);
  }
  field(std::string(name) + "_latency_cycles", static_cast<double>(best) / count);
  best = ~0ULL;
  for (int i = 0; i < 5; ++i) {
    four<<<1, 1024>>>(cycles, static_cast<T*>(sink), T(3), T(5));
    cudaMemcpy(&value, cycles, 8, cudaMemcpyDeviceToHost);
    best = std::min(best, value);
  }
  field(std::string(name) + "_lanes_per_cycle_sm", 1024 * 4 * count / static_cast<double>(best));
}

// ---- tensor cores
#define MMA(NAME, ASM)                                                                                   \
  template <int Chains>                                                                                  \
  __global__ void NAME(u64* cycles, u32* sink) {                                                         \
    u32 d[Chains][4] = {};                                                                               \
    const u32 a = threadIdx.x, b = 7;                                                                    \
    __syncthreads();                                                                                     \
    const u64 begin = clock64();                                                                         \
    for (int t = 0; t < 256; ++t) {                                                                      \
      _Pragma("unroll") for (int c = 0; c < Chains; ++c) {                                               \
        asm volatile(ASM : "+r"(d[c][0]), "+r"(d[c][1]), "+r"(d[c][2]), "+r"(d[c][3]) : "r"(a), "r"(b)); \
      }                                                                                                  \
    }                                                                                                    \
    __syncthreads();                                                                                     \
    const u64 end = clock64();                                                                           \
    for (int c = 0; c < Chains; ++c) sink[threadIdx.x] += d[c][0] ^ d[c][1] ^ d[c][2] ^ d[c][3];         \
    if (threadIdx.x == 0) cycles[0] = end - begin;                                                       \
  }
MMA(mma_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%4,%5},{%4,%5},{%0,%1,%2,%3};")
MMA(mma_f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%4,%5},{%4,%5},{%0,%1,%2,%3};")
MMA(mma_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%4,%5},{%4,%5},{%0,%1,%2,%3};")
MMA(mma_s8, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%4,%5},{%4,%5},{%0,%1,%2,%3};")
MMA(mma_e4m3, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3},{%4,%5,%4,%5},{%4,%5},{%0,%1,%2,%3};")
MMA(mma_f64,
    "{.reg .f64 x, y, z; mov.b64 x, {%0,%1}; mov.b64 y, {%2,%3}; mov.b64 z, {%4,%5};"
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {x,y},{z},{z},{x,y}; mov.b64 {%0,%1}, x; mov.b64 {%2,%3}, y;}")

void tensor(const char* name, void (*one)(u64*, u32*), void (*four)(u64*, u32*), double macs, u64* cycles, u32* sink) {
  u64 a = ~0ULL, b = ~0ULL, value = 0;
  for (int i = 0; i < 5; ++i) {
    one<<<1, 32>>>(cycles, sink);
    cudaMemcpy(&value, cycles, 8, cudaMemcpyDeviceToHost);
    a = std::min(a, value);
    four<<<1, 512>>>(cycles, sink);
    cudaMemcpy(&value, cycles, 8, cudaMemcpyDeviceToHost);
    b = std::min(b, value);
  }
  field(std::string(name) + "_latency_cycles", static_cast<double>(a) / 256);
  field(std::string(name) + "_macs_per_cycle_sm", macs * 16 * 4 * 256 / static_cast<double>(b));
}

// ---- memory latency: a chase through a cycle of pointers
__global__ void chase_global(const u64* start, int steps, u64* cycles, u64* sink, int cached) {
  const u64* p = start;
  for (int i = 0; i < steps; ++i) {
    if (cached != 0) asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p));
    else asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p));
  }
  const u64 begin = clock64();
  if (cached != 0) {
    for (int i = 0; i < steps; ++i) asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p));
  } else {
    for (int i = 0; i < steps; ++i) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p));
  }
  *cycles = (clock64() - begin) / steps;
  *sink = reinterpret_cast<u64>(p);
}

__global__ void link_chain(u64* base, u64 count, u64 stride_words) {
  for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    base[i * stride_words] = reinterpret_cast<u64>(base + ((i + count / 2 + 1) % count) * stride_words);
  }
}

__global__ void chase_shared(u64* cycles, u32* sink, int stride) {
  __shared__ u32 cell[8192];
  for (int i = threadIdx.x; i < 8192; i += blockDim.x) cell[i] = static_cast<u32>(__cvta_generic_to_shared(&cell[i]));
  __syncthreads();
  u32 p = static_cast<u32>(__cvta_generic_to_shared(&cell[threadIdx.x * stride % 8192]));
  const u64 begin = clock64();
  for (int i = 0; i < 1024; ++i) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p));
  if (threadIdx.x == 0) *cycles = clock64() - begin;
  sink[threadIdx.x] = p;
}

__global__ void shared_bandwidth(u64* cycles, u32* sink, int stride, int vector) {
  __shared__ __align__(16) u32 cell[12288];
  const u32 base = static_cast<u32>(__cvta_generic_to_shared(cell));
  for (int i = threadIdx.x; i < 12288; i += blockDim.x) cell[i] = i;
  __syncthreads();
  const u32 p = base + (threadIdx.x % 32 * stride * 4) % 49152;
  u32 x = 0, y = 0, z = 0, w = 0, sum = 0;
  const u64 begin = clock64();
  for (int i = 0; i < 256; ++i) {
    if (vector == 4) {
      asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(p));
    } else {
      asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(x) : "r"(p));
    }
    sum += x + y + z + w;
  }
  __syncthreads();
  if (threadIdx.x == 0) *cycles = clock64() - begin;
  sink[threadIdx.x] = sum;
}

__global__ void barrier_cost(u64* cycles) {
  __syncthreads();
  const u64 begin = clock64();
  for (int i = 0; i < 256; ++i) __syncthreads();
  if (threadIdx.x == 0) *cycles = (clock64() - begin) / 256;
}

__global__ void fence_cost(u64* cycles, u32* sink, int scope) {
  const u64 begin = clock64();
  for (int i = 0; i < 256; ++i) {
    asm volatile("st.global.u32 [%0], %1;" ::"l"(sink + threadIdx.x), "r"(i) : "memory");
    if (scope == 0) asm volatile("fence.acq_rel.cta;" ::: "memory");
    if (scope == 1) asm volatile("fence.acq_rel.gpu;" ::: "memory");
    if (scope == 2) asm volatile("fence.acq_rel.sys;" ::: "memory");
    if (scope == 3) asm volatile("fence.sc.sys;" ::: "memory");
  }
  if (threadIdx.x == 0) *cycles = (clock64() - begin) / 256;
}

// ---- atomics
__global__ void atomic_latency(u64* cycles, u32* cell, u32* sink, int shared) {
  __shared__ u32 local;
  local = 0;
  u32 old = 0;
  const u64 begin = clock64();
  if (shared != 0) {
    for (int i = 0; i < 256; ++i) old += atomicAdd(&local, old & 1);
  } else {
    for (int i = 0; i < 256; ++i) old += atomicAdd(cell, old & 1);
  }
  *cycles = (clock64() - begin) / 256;
  *sink = old + local;
}

__global__ void atomic_stream(u32* cells, u32 mask, int turns, int wanted) {
  const u32 i = (blockIdx.x * blockDim.x + threadIdx.x) & mask;
  u32 sum = 0;
  for (int t = 0; t < turns; ++t) {
    if (wanted != 0) {
      sum += atomicAdd(&cells[i], 1);
    } else {
      asm volatile("red.global.add.u32 [%0], 1;" ::"l"(&cells[i]) : "memory");
    }
  }
  if (sum == 0xffffffffU) cells[0] = sum;
}

__global__ void atomic_shared_stream(u64* cycles, u32* sink, u32 mask) {
  __shared__ u32 cell[1024];
  cell[threadIdx.x] = 0;
  __syncthreads();
  const u64 begin = clock64();
  for (int t = 0; t < 256; ++t) atomicAdd(&cell[threadIdx.x & mask], 1U);
  __syncthreads();
  if (threadIdx.x == 0) *cycles = clock64() - begin;
  sink[threadIdx.x] = cell[threadIdx.x];
}

__global__ void ping_pong(volatile u32* token, u64* cycles, int turns) {
  if (threadIdx.x != 0) return;
  const u64 begin = clock64();
  for (u32 i = 0; i < static_cast<u32>(turns); ++i) {
    while (token[0] != 2 * i + blockIdx.x) {
    }
    __threadfence();
    token[0] = 2 * i + blockIdx.x + 1;
  }
  if (blockIdx.x == 0) *cycles = (clock64() - begin) / turns;
}

__global__ void grid_sync(int turns) {
  for (int i = 0; i < turns; ++i) cooperative_groups::this_grid().sync();
}

// ---- streams of memory and whole kernels
__global__ void empty() {}
__global__ void long_kernel(u64 cycles) {
  const u64 begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

__global__ void read_stream(const uint4* data, u64 count, uint4* sink, int turns) {
  uint4 sum{};
  for (int t = 0; t < turns; ++t) {
    for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * static_cast<u64>(blockDim.x)) {
      const uint4 v = __ldcg(data + i);
      sum.x ^= v.x, sum.y ^= v.y, sum.z ^= v.z, sum.w ^= v.w;
    }
  }
  if (sum.x == 1 && sum.y == 2 && sum.z == 3 && sum.w == 4) *sink = sum;
}

__global__ void write_stream(uint4* data, u64 count) {
  for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * static_cast<u64>(blockDim.x)) data[i] = uint4{1, 2, 3, 4};
}

__global__ void copy_stream(const uint4* from, uint4* to, u64 count) {
  for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * static_cast<u64>(blockDim.x)) to[i] = from[i];
}

__global__ void saxpy(const float* x, float* y, float a, u64 n) {
  const u64 i = blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void gemm_tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float sa[32][32], sb[32][32];
  const int row = blockIdx.y * 32 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 32) {
    sa[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    sb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
    __syncthreads();
    for (int i = 0; i < 32; ++i) sum += sa[threadIdx.y][i] * sb[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

u64 read_cycles(const u64* cycles) {
  u64 value = 0;
  check(cudaMemcpy(&value, cycles, 8, cudaMemcpyDeviceToHost), "cycles");
  return value;
}

void measure_instructions(u64* cycles, void* sink) {
#define RUN(NAME) instruction(#NAME, NAME<1>, NAME<4>, cycles, sink)
  RUN(fma_f32), RUN(add_f32), RUN(fma_f64), RUN(fma_f16x2), RUN(fma_bf16x2), RUN(add_s32_and_lop3), RUN(mad_s32), RUN(mad_wide), RUN(add_s64);
  RUN(lop3_b32), RUN(shl_b32), RUN(prmt_b32), RUN(popc_b32), RUN(min_s32_and_add), RUN(div_u32), RUN(selp_b32);
  RUN(ex2_f32), RUN(rcp_f32_and_add), RUN(rsqrt_f32), RUN(sin_f32), RUN(div_rn_f32), RUN(cvt_f32_s32), RUN(cvt_f16_f32);
  RUN(shfl_b32), RUN(ballot), RUN(redux);
#undef RUN
#define RUN(NAME, MACS) tensor(#NAME, NAME<1>, NAME<4>, MACS, cycles, static_cast<u32*>(sink))
  RUN(mma_bf16, 2048), RUN(mma_f16, 2048), RUN(mma_tf32, 1024), RUN(mma_s8, 4096), RUN(mma_e4m3, 4096), RUN(mma_f64, 256);
#undef RUN
}

void measure_latencies(u64* cycles, void* sink, u64* big, u64 big_bytes) {
  for (const u64 kib : {4ULL, 16ULL, 64ULL, 512ULL, 8192ULL, 24576ULL, 4194304ULL}) {
    const u64 stride = 16;  // a line of 128 bytes
    const u64 count = std::min(kib * 1024, big_bytes) / 8 / stride;
    link_chain<<<132, 256>>>(big, count, stride);
    const int steps = static_cast<int>(std::min<u64>(count, 4096));
    chase_global<<<1, 1>>>(big, steps, cycles, static_cast<u64*>(sink), 0);
    field("load_cg_latency_cycles_" + std::to_string(kib) + "KiB", static_cast<double>(read_cycles(cycles)));
    chase_global<<<1, 1>>>(big, steps, cycles, static_cast<u64*>(sink), 1);
    field("load_ca_latency_cycles_" + std::to_string(kib) + "KiB", static_cast<double>(read_cycles(cycles)));
  }
  chase_shared<<<1, 32>>>(cycles, static_cast<u32*>(sink), 1);
  field("load_shared_latency_cycles", static_cast<double>(read_cycles(cycles)) / 1024);
  for (const int stride : {2, 4, 8, 16, 32}) {
    chase_shared<<<1, 32>>>(cycles, static_cast<u32*>(sink), stride);
    field("load_shared_latency_cycles_conflict" + std::to_string(stride), static_cast<double>(read_cycles(cycles)) / 1024);
  }
  for (const int stride : {1, 2, 4, 8, 16, 32}) {
    shared_bandwidth<<<1, 1024>>>(cycles, static_cast<u32*>(sink), stride, 1);
    field("load_shared_cycles_per_warp_stride" + std::to_string(stride), static_cast<double>(read_cycles(cycles)) / (256 * 32));
  }
  shared_bandwidth<<<1, 1024>>>(cycles, static_cast<u32*>(sink), 4, 4);
  field("load_shared_v4_cycles_per_warp", static_cast<double>(read_cycles(cycles)) / (256 * 32));
  for (const int threads : {32, 64, 128, 256, 512, 1024}) {
    barrier_cost<<<1, threads>>>(cycles);
    field("barrier_cycles_" + std::to_string(threads), static_cast<double>(read_cycles(cycles)));
  }
  for (int scope = 0; scope < 4; ++scope) {
    static const char* names[] = {"acq_rel_cta", "acq_rel_gpu", "acq_rel_sys", "sc_sys"};
    fence_cost<<<1, 32>>>(cycles, static_cast<u32*>(sink), scope);
    field(std::string("store_and_fence_cycles_") + names[scope], static_cast<double>(read_cycles(cycles)));
  }
}

void measure_atomics(u64* cycles, void* sink, u32* cells) {
  atomic_latency<<<1, 1>>>(cycles, cells, static_cast<u32*>(sink), 1);
  field("atomic_shared_latency_cycles", static_cast<double>(read_cycles(cycles)));
  atomic_latency<<<1, 1>>>(cycles, cells, static_cast<u32*>(sink), 0);
  field("atomic_global_latency_cycles", static_cast<double>(read_cycles(cycles)));
  for (const u32 mask : {0U, 31U, 1023U}) {
    atomic_shared_stream<<<1, 1024>>>(cycles, static_cast<u32*>(sink), mask);
    field("atomic_shared_cycles_per_warp_cells" + std::to_string(mask + 1), static_cast<double>(read_cycles(cycles)) / (256 * 32));
  }
  for (const u32 mask : {0U, 31U, 1023U, 0xffffffU}) {
    const double ops = 132.0 * 1024 * 16;
    field("atom_global_Gops_cells" + std::to_string(static_cast<u64>(mask) + 1),
          ops / gpu_ms([&] { atomic_stream<<<132, 1024>>>(cells, mask, 16, 1); }) * 1e-6);
    field("red_global_Gops_cells" + std::to_string(static_cast<u64>(mask) + 1),
          ops / gpu_ms([&] { atomic_stream<<<132, 1024>>>(cells, mask, 16, 0); }) * 1e-6);
  }
  cudaMemset(cells, 0, 4);
  ping_pong<<<2, 32>>>(cells, cycles, 1000);
  field("block_ping_pong_round_trip_cycles", static_cast<double>(read_cycles(cycles)));
  int turns = 100;
  void* arguments[] = {&turns};
  for (const int threads : {32, 256, 1024}) {
    const double ms = gpu_ms([&] { cudaLaunchCooperativeKernel(reinterpret_cast<void*>(grid_sync), 132, threads, arguments); });
    field("grid_sync_us_132x" + std::to_string(threads), ms * 1e3 / turns);
  }
}

void measure_host(char* big) {
  field("launch_and_sync_us", host_us([] { empty<<<1, 32>>>(), cudaDeviceSynchronize(); }, 200));
  field("launch_async_us", host_us([] {
          for (int i = 0; i < 200; ++i) empty<<<1, 32>>>();
        }, 1) / 200);
  cudaDeviceSynchronize();
  field("launch_back_to_back_gpu_us", gpu_ms([] {
          for (int i = 0; i < 500; ++i) empty<<<1, 32>>>();
        }) * 1e3 / 500);
  field("launch_132_blocks_back_to_back_gpu_us", gpu_ms([] {
          for (int i = 0; i < 500; ++i) empty<<<132, 1024>>>();
        }) * 1e3 / 500);
  field("launch_13200_blocks_gpu_us", gpu_ms([] {
          for (int i = 0; i < 20; ++i) empty<<<13200, 128>>>();
        }) * 1e3 / 20);
  field("sync_idle_us", host_us([] { cudaDeviceSynchronize(); }, 200));
  cudaEvent_t event;
  cudaEventCreate(&event);
  field("event_record_us", host_us([&] { cudaEventRecord(event); }, 200));
  void* pinned = nullptr;
  check(cudaMallocHost(&pinned, 64 << 20), "pinned");
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{65536}, std::size_t{64} << 20}) {
    field("h2d_us_" + std::to_string(bytes), host_us([&] { cudaMemcpy(big, pinned, bytes, cudaMemcpyHostToDevice); }, 5));
    field("d2h_us_" + std::to_string(bytes), host_us([&] { cudaMemcpy(pinned, big, bytes, cudaMemcpyDeviceToHost); }, 5));
  }
  field("malloc_free_us", host_us([] {
          void* p = nullptr;
          cudaMalloc(&p, 1 << 20);
          cudaFree(p);
        }, 20));
}

void measure_streams(char* big, u64 bytes) {
  const u64 half = bytes / 2;
  auto* data = reinterpret_cast<uint4*>(big);
  const u64 count = half / 16;
  auto* other = data + count;
  field("hbm_read_GBs", static_cast<double>(half) / gpu_ms([&] { read_stream<<<132 * 8, 512>>>(data, count, other, 1); }) * 1e-6);
  field("hbm_write_GBs", static_cast<double>(half) / gpu_ms([&] { write_stream<<<132 * 8, 512>>>(data, count); }) * 1e-6);
  field("hbm_copy_GBs", 2.0 * static_cast<double>(half) / gpu_ms([&] { copy_stream<<<132 * 8, 512>>>(data, other, count); }) * 1e-6);
  field("memcpy_d2d_GBs", 2.0 * static_cast<double>(half) / gpu_ms([&] { cudaMemcpyAsync(other, data, half, cudaMemcpyDeviceToDevice); }) * 1e-6);
  field("memset_GBs", static_cast<double>(half) / gpu_ms([&] { cudaMemsetAsync(data, 0, half); }) * 1e-6);
  for (const u64 mib : {4ULL, 16ULL, 24ULL}) {
    const u64 n = mib << 16;
    field("l2_read_GBs_" + std::to_string(mib) + "MiB", static_cast<double>(n * 16 * 20) / gpu_ms([&] { read_stream<<<132 * 4, 512>>>(data, n, other, 20); }) * 1e-6);
  }
  auto* x = reinterpret_cast<float*>(data);
  auto* y = reinterpret_cast<float*>(other);
  for (const u64 n : {u64{1} << 20, u64{1} << 24, u64{1} << 28}) {
    field("saxpy_us_" + std::to_string(n), gpu_ms([&] { saxpy<<<static_cast<unsigned>(n / 256), 256>>>(x, y, 2.0F, n); }) * 1e3);
  }
  for (const int n : {512, 1024, 2048, 4096}) {
    const dim3 grid(static_cast<unsigned>(n) / 32, static_cast<unsigned>(n) / 32);
    field("gemm_tiled_us_" + std::to_string(n), gpu_ms([&] { gemm_tiled<<<grid, dim3(32, 32)>>>(x, y, y + (1 << 28), n); }) * 1e3);
  }
}

}  // namespace

int main() {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0), "properties");
  std::printf("{\n  \"gpu\": \"%s\"", properties.name);
  first_field = false;
  int clock_khz = 0;
  int driver = 0;
  cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0);
  cudaDriverGetVersion(&driver);
  field("driver_api", driver);
  field("sm_clock_max_MHz", clock_khz * 1e-3);
  field("sms", properties.multiProcessorCount);
  field("l2_bytes", properties.l2CacheSize);
  field("smem_per_sm", static_cast<double>(properties.sharedMemPerMultiprocessor));
  field("smem_per_block_optin", static_cast<double>(properties.sharedMemPerBlockOptin));
  field("smem_reserved_per_block", static_cast<double>(properties.reservedSharedMemPerBlock));
  const u64 bytes = u64{8} << 30;
  char* big = nullptr;
  u64* cycles = nullptr;
  void* sink = nullptr;
  check(cudaMalloc(&big, bytes), "malloc");
  check(cudaMalloc(&cycles, 4096), "malloc");
  check(cudaMalloc(&sink, 1 << 20), "malloc");
  cudaMemset(big, 0, bytes);
  // Bring the clock up before anything is timed, and say what it is.
  long_kernel<<<132, 32>>>(1'000'000'000ULL);
  check(cudaDeviceSynchronize(), "warm-up");
  const double ms = gpu_ms([] { long_kernel<<<132, 32>>>(20'000'000ULL); });
  field("sm_clock_measured_MHz", 20'000'000.0 / ms * 1e-3);
  measure_instructions(cycles, sink);
  measure_latencies(cycles, sink, reinterpret_cast<u64*>(big), u64{4} << 30);
  measure_atomics(cycles, sink, reinterpret_cast<u32*>(big));
  measure_streams(big, bytes);
  measure_host(big);
  check(cudaDeviceSynchronize(), "end");
  std::printf("\n}\n");
  return 0;
}
