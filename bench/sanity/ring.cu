// SPDX-License-Identifier: Apache-2.0
/// \file
/// The sanity ring: small kernels, each dear on a GPU for a reason of its own, and each easy to
/// price too low in a model. Prints a name and the microseconds of one launch, kernel by kernel.
/// run.sh compares what a GPU took with what is predicted for it.
///
///   ring [--repeat N] [name...]      the median of N launches (default 1) after a warm-up
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 kBytes = u64{64} << 20;  ///< Of the scratch memory; zeros.
u32* scratch = nullptr;
u32* sink = nullptr;

__constant__ u32 table[2048];

__device__ __forceinline__ u32 number() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}
/// Uses a value without letting the compiler know how.
__device__ __forceinline__ void keep(u32* to, u32 value) {
  if (value == 0x9E3779B9U) to[number() % 1024] = value;
}

// ---- local memory, registers

/// 1 KiB of local memory per thread, read and written at computed places.
__global__ void local_array(u32* to, u32 turns) {
  u32 own[256];
  for (u32 i = 0; i < 256; ++i) own[i] = i ^ threadIdx.x;
  u32 at = threadIdx.x;
  for (u32 t = 0; t < turns; ++t) {
    at = (at * 5 + own[at & 255]) & 255;
    own[(at + t) & 255] += at;
  }
  keep(to, own[at & 255] + at);
}

/// The same walk in 16 KiB per thread, more than any L1 holds.
__global__ void local_large(u32* to, u32 turns) {
  u32 own[4096];
  for (u32 i = 0; i < 4096; i += 64) own[i] = i;
  u32 at = 0;
  for (u32 t = 0; t < turns; ++t) {
    at = (at + 64) & 4095;
    own[at] += t;
  }
  keep(to, own[at]);
}

/// 160 values that live through the loop, where 1,024 threads have 64 registers each.
__global__ void __launch_bounds__(1024) spills(u32* to, u32 turns) {
  u32 v[160];
#pragma unroll
  for (u32 i = 0; i < 160; ++i) v[i] = to[i] + threadIdx.x;
  for (u32 t = 0; t < turns; ++t) {
#pragma unroll
    for (u32 i = 0; i < 160; ++i) v[i] = v[i] * v[(i + 37) % 160] + t;
  }
  u32 sum = 0;
#pragma unroll
  for (u32 i = 0; i < 160; ++i) sum ^= v[i];
  keep(to, sum);
}

/// More than 255 live values, whatever the size of the block.
__global__ void __launch_bounds__(128) spills_255(u32* to, u32 turns) {
  u32 v[400];
#pragma unroll
  for (u32 i = 0; i < 400; ++i) v[i] = to[i] + threadIdx.x;
  for (u32 t = 0; t < turns; ++t) {
#pragma unroll
    for (u32 i = 0; i < 400; ++i) v[i] = v[i] * v[(i + 191) % 400] + t;
  }
  u32 sum = 0;
#pragma unroll
  for (u32 i = 0; i < 400; ++i) sum ^= v[i];
  keep(to, sum);
}

/// 200 registers of each of 256 threads: one block per SM, and one warp for each scheduler's pair.
__global__ void __launch_bounds__(256) few_warps(u32* to, u32 turns) {
  u32 v[180];
#pragma unroll
  for (u32 i = 0; i < 180; ++i) v[i] = to[i] + threadIdx.x;
  u32 at = threadIdx.x;
  for (u32 t = 0; t < turns; ++t) {
    at = to[(at * 16 + t * 4096 + blockIdx.x * 65536) & 0xFF'FFFF] + at + 1;
#pragma unroll
    for (u32 i = 0; i < 180; ++i) v[i] += at;
  }
  u32 sum = at;
#pragma unroll
  for (u32 i = 0; i < 180; ++i) sum ^= v[i] * i;
  keep(to, sum);
}

// ---- atomics

__global__ void atomic_one_word(u32* to, u32 turns) {
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) sum += atomicAdd(to, sum & 1);
  keep(to, sum);
}
__global__ void atomic_one_word_unused(u32* to, u32 turns) {
  for (u32 t = 0; t < turns; ++t) atomicAdd(to, threadIdx.x + t);
}
__global__ void atomic_one_lane(u32* to, u32 turns) {
  if (threadIdx.x % 32 != 0) return;
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) sum += atomicExch(to, t);
  keep(to, sum);
}
__global__ void atomic_float_word(float* to, u32 turns) {
  for (u32 t = 0; t < turns; ++t) atomicAdd(to, 1.0F);
}
__global__ void atomic_double_word(double* to, u32 turns) {
  for (u32 t = 0; t < turns; ++t) atomicAdd(to, 1.0);
}
__global__ void atomic_cas_word(u32* to, u32 turns) {
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) sum += atomicCAS(to, sum | 1, 0);
  keep(to, sum);
}
__global__ void atomic_u64_max(u64* to, u32 turns) {
  u64 sum = 0;
  for (u32 t = 0; t < turns; ++t) sum += atomicMax(reinterpret_cast<unsigned long long*>(to), sum & 1);
  keep(reinterpret_cast<u32*>(to), static_cast<u32>(sum));
}
__global__ void atomic_line(u32* to, u32 turns) {
  for (u32 t = 0; t < turns; ++t) atomicAdd(to + threadIdx.x % 32, t);
}
__global__ void atomic_scattered(u32* to, u32 turns) {
  u32 at = number() * 2'654'435'761U;
  for (u32 t = 0; t < turns; ++t) {
    atomicAdd(to + (at >> 8 & 0xFF'FFFF), 1);
    at = at * 1'664'525U + 1'013'904'223U;
  }
}
__global__ void atomic_few_words(u32* to, u32 turns) {
  for (u32 t = 0; t < turns; ++t) atomicAdd(to + (number() + t) % 8 * 64, t);
}

// ---- shared memory

__global__ void shared_conflicts(u32* to, u32 turns) {
  __shared__ u32 s[8192];
  for (u32 i = threadIdx.x; i < 8192; i += blockDim.x) s[i] = i;
  __syncthreads();
  u32 at = threadIdx.x * 32;
  for (u32 t = 0; t < turns; ++t) at = s[at & 8191];
  keep(to, at);
}
__global__ void shared_store_conflicts(u32* to, u32 turns) {
  __shared__ volatile u32 s[8192];
  for (u32 t = 0; t < turns; ++t) s[(threadIdx.x * 32 + t) & 8191] = t;
  __syncthreads();
  keep(to, s[threadIdx.x]);
}
__global__ void shared_wide_conflicts(u32* to, u32 turns) {
  __shared__ uint4 s[2048];
  for (u32 i = threadIdx.x; i < 2048; i += blockDim.x) s[i] = {i, i, i, i};
  __syncthreads();
  u32 at = threadIdx.x * 8;
  for (u32 t = 0; t < turns; ++t) {
    const uint4 v = s[at & 2047];
    at = v.x + v.w * 7 + threadIdx.x * 8;
  }
  keep(to, at);
}
__global__ void shared_atomic_word(u32* to, u32 turns) {
  __shared__ u32 s[32];
  if (threadIdx.x < 32) s[threadIdx.x] = 0;
  __syncthreads();
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) sum += atomicAdd(s, sum & 1);
  keep(to, sum);
}
__global__ void shared_atomic_spread(u32* to, u32 turns) {
  __shared__ u32 s[1024];
  s[threadIdx.x] = 0;
  __syncthreads();
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) sum += atomicAdd(s + ((threadIdx.x + sum) & 1023), 1) & 1;
  keep(to, sum);
}
__global__ void shared_atomic_float(float* to, u32 turns) {
  __shared__ float s[32];
  if (threadIdx.x < 32) s[threadIdx.x] = 0;
  __syncthreads();
  for (u32 t = 0; t < turns; ++t) atomicAdd(s + t % 2, 1.0F);
  __syncthreads();
  keep(reinterpret_cast<u32*>(to), static_cast<u32>(s[0]));
}

/// No conflicts, and enough loads at once to fill the path.
__global__ void shared_loads(u32* to, u32 turns) {
  __shared__ volatile u32 s[1024];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) {
#pragma unroll
    for (u32 i = 0; i < 8; ++i) sum += s[(threadIdx.x + i * 32) & 1023];
  }
  keep(to, sum);
}

// ---- global memory

/// Each lane in a line of its own.
__global__ void load_strided(const u32* from, u32* to, u32 turns) {
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) sum += __ldcg(from + ((number() * 32 + t * 1'048'573U) & 0xFF'FFFF));
  keep(to, sum);
}
/// One byte out of each sector.
__global__ void load_bytes(const unsigned char* from, u32* to, u32 turns) {
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) sum += from[(number() * 32 + t * 8'388'608U) & 0x3FF'FFFF];
  keep(to, sum);
}
/// One byte into each sector.
__global__ void store_bytes(unsigned char* to, u32 turns) {
  for (u32 t = 0; t < turns; ++t) to[(number() * 32 + t * 8'388'608U) & 0x3FF'FFFF] = t;
}
__global__ void store_strided(u32* to, u32 turns) {
  for (u32 t = 0; t < turns; ++t) to[(number() * 32 + t * 1'048'576U) & 0xFF'FFFF] = t;
}
/// A chain of loads through L2.
__global__ void chase(const u32* from, u32* to, u32 turns) {
  u32 at = threadIdx.x * 4096;
  for (u32 t = 0; t < turns; ++t) at = from[(at + 12'289) & 0xFF'FFFF] + at + 12'289;
  keep(to, at);
}
/// A working set of 1 MiB per SM.
__global__ void l1_thrash(const u32* from, u32* to, u32 turns) {
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) {
    sum += from[((threadIdx.x + t * 1024) & 0x3'FFFF) + blockIdx.x * 0x4'0000 % 0x100'0000];
  }
  keep(to, sum);
}
/// Lines at a distance of a power of two.
__global__ void l2_sets(const u32* from, u32* to, u32 turns) {
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) sum += __ldcg(from + ((number() * 16384 + t * 32) & 0xFF'FFFF));
  keep(to, sum);
}
/// A page of its own for every load, over 2 GiB.
__global__ void far_pages(const u32* from, u32* to, u32 turns) {
  u32 at = number();
  for (u32 t = 0; t < turns; ++t) {
    at = from[u64{(at * 37 + t * 11) & 1023} * 524'288 + (at & 31) * 32] + at * 3 + 1;
  }
  keep(to, at);
}
__global__ void volatile_word(volatile u32* from, u32* to, u32 turns) {
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) sum += from[sum & 1];
  keep(to, sum);
}
/// Lanes of one instruction in shared, local and global memory.
__global__ void mixed_spaces(u32* from, u32* to, u32 turns) {
  __shared__ u32 s[1024];
  u32 own[32];
  for (u32 i = 0; i < 32; ++i) own[i] = i;
  s[threadIdx.x] = 0;
  __syncthreads();
  u32* at = threadIdx.x % 3 == 0 ? s + threadIdx.x
            : threadIdx.x % 3 == 1 ? own + (from[threadIdx.x] & 31) : from + number() * 32;
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) {
    sum += *reinterpret_cast<volatile u32*>(at);
    *reinterpret_cast<volatile u32*>(at) = sum & 1;
  }
  keep(to, sum + own[sum & 31]);
}
/// One lane of each warp in shared memory, the rest far apart in global memory.
__global__ void decoy_lane(u32* to, u32 turns) {
  __shared__ u32 s[1024];
  u32* const base = threadIdx.x % 32 == 0 ? s + threadIdx.x : to + number() * 32;
  const u32 step = threadIdx.x % 32 == 0 ? 0 : 1'048'576;
  for (u32 t = 0; t < turns; ++t) {
    *reinterpret_cast<volatile u32*>(base + (t * step & 0x7F'FFFF)) = t;
  }
  __syncthreads();
  keep(to, s[threadIdx.x]);
}
__global__ void constant_divergent(u32* to, u32 turns) {
  u32 at = threadIdx.x;
  for (u32 t = 0; t < turns; ++t) at = table[(at * 33 + t) & 2047] + at + threadIdx.x;
  keep(to, at);
}
__global__ void copy_async(const u32* from, u32* to, u32 turns) {
  __shared__ u32 s[1024];
  const u32 at = static_cast<u32>(__cvta_generic_to_shared(s + threadIdx.x));
  for (u32 t = 0; t < turns; ++t) {
    const u32* source = from + ((number() * 32 + t * 1'048'576U) & 0xFF'FFFF);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n cp.async.wait_all;" ::"r"(at), "l"(source)
                 : "memory");
  }
  __syncthreads();
  keep(to, s[threadIdx.x]);
}

// ---- control flow

__global__ void divergent_switch(u32* to, u32 turns) {
  u32 v = threadIdx.x;
  for (u32 t = 0; t < turns; ++t) {
    switch ((threadIdx.x + t) & 15) {
#define ARM(N) case N: v = (v * (2 * N + 3)) ^ (v >> (N + 1)); v += v << 3; v ^= v >> 5; break;
      ARM(0) ARM(1) ARM(2) ARM(3) ARM(4) ARM(5) ARM(6) ARM(7)
      ARM(8) ARM(9) ARM(10) ARM(11) ARM(12) ARM(13) ARM(14) ARM(15)
#undef ARM
    }
  }
  keep(to, v);
}
__device__ __noinline__ u32 step_a(u32 v) { return v * 3 + 1; }
__device__ __noinline__ u32 step_b(u32 v) { return v ^ (v >> 7); }
__device__ __noinline__ u32 step_c(u32 v) { return v + (v << 5); }
__device__ u32 (*const steps[3])(u32) = {step_a, step_b, step_c};
__global__ void indirect_calls(u32* to, u32 turns) {
  u32 v = threadIdx.x;
  for (u32 t = 0; t < turns; ++t) v = steps[(v + t) % 3](v);
  keep(to, v);
}
__device__ __noinline__ u32 fall(u32 depth, u32 v) {
  return depth == 0 ? v : fall(depth - 1, v * 3 + depth) ^ v;
}
__global__ void recursion(u32* to, u32 turns) {
  u32 v = threadIdx.x;
  for (u32 t = 0; t < turns; ++t) v = fall(16, v);
  keep(to, v);
}
__global__ void barriers(u32* to, u32 turns) {
  for (u32 t = 0; t < turns; ++t) __syncthreads();
  keep(to, turns);
}
__global__ void fences(u32* to, u32 turns) {
  for (u32 t = 0; t < turns; ++t) {
    to[number()] = t;
    __threadfence();
  }
}
__global__ void fences_system(u32* to, u32 turns) {
  for (u32 t = 0; t < turns; ++t) {
    to[number()] = t;
    __threadfence_system();
  }
}
__global__ void releases(u32* to, u32 turns) {
  for (u32 t = 0; t < turns; ++t) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to + number()), "r"(t) : "memory");
  }
}
__global__ void releases_system(u32* to, u32 turns) {
  for (u32 t = 0; t < turns; ++t) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to + number()), "r"(t) : "memory");
  }
}
__global__ void acquires(const u32* from, u32* to, u32 turns) {
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) {
    u32 v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(from + number()) : "memory");
    sum += v;
  }
  keep(to, sum);
}
/// One copy of 4 KiB after the other, each waited for.
__global__ void bulk_copies(const u32* from, u32* to, u32 turns) {
  __shared__ alignas(128) u32 s[1024];
  __shared__ alignas(8) u64 bar;
  const u32 data = static_cast<u32>(__cvta_generic_to_shared(s));
  const u32 object = static_cast<u32>(__cvta_generic_to_shared(&bar));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(object) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    for (u32 t = 0; t < turns; ++t) {
      asm volatile(
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;\n"
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1], [%2], 4096, [%0];" ::"r"(object),
          "r"(data), "l"(from + (blockIdx.x * 65536 + t * 1024) % 0x100'0000)
          : "memory");
      u32 done = 0;
      while (done == 0) {
        asm volatile(
            "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
            : "=r"(done)
            : "r"(object), "r"(t & 1)
            : "memory");
      }
    }
  }
  __syncthreads();
  keep(to, s[threadIdx.x]);
}
__global__ void tiny_blocks(u32* to) {
  keep(to, number());
}
__global__ void one_thread(u32* to, u32 turns) {
  float x = turns;
  for (u32 t = 0; t < turns; ++t) x = x * 1.0001F + 0.5F;
  keep(to, __float_as_uint(x));
}
__global__ void shared_occupancy(const u32* from, u32* to, u32 turns) {
  extern __shared__ u32 s[];
  u32 at = threadIdx.x * 64 + blockIdx.x * 8192;
  for (u32 t = 0; t < turns; ++t) at = from[(at + 12'289) & 0xFF'FFFF] + at + 12'289;
  s[threadIdx.x] = at;
  keep(to, s[threadIdx.x ^ 1]);
}
template <u32 N>
__device__ __forceinline__ u32 unrolled(u32 v, u32 a) {
#pragma unroll
  for (u32 i = 0; i < N; ++i) v = (v ^ (a + i * 2'654'435'761U)) * (a | (2 * i + 1));
  return v;
}
/// 100 KiB and more of code, gone through by one warp.
__global__ void long_code(u32* to, u32 turns) {
  u32 v = threadIdx.x;
  for (u32 t = 0; t < turns; ++t) v = unrolled<6000>(v, t);
  keep(to, v);
}
__global__ void heap(u32* to, u32 turns) {
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) {
    u32* own = static_cast<u32*>(malloc(64));
    if (own != nullptr) sum += own == to;
    free(own);
  }
  keep(to, sum);
}

// ---- arithmetic

#define ARITHMETIC(NAME, TYPE, EXPRESSION)                                           \
  __global__ void NAME(u32* to, u32 turns, TYPE a, TYPE b) {                         \
    TYPE x = static_cast<TYPE>(threadIdx.x + 1);                                     \
    TYPE y = static_cast<TYPE>(threadIdx.x + 2);                                     \
    for (u32 t = 0; t < turns; ++t) {                                                \
      x = EXPRESSION(x);                                                             \
      y = EXPRESSION(y);                                                             \
    }                                                                                \
    keep(to, static_cast<u32>(static_cast<std::int64_t>(x)) + static_cast<u32>(static_cast<std::int64_t>(y))); \
  }
#define E(v) __expf(v) * a + b
ARITHMETIC(special, float, E)
#undef E
#define E(v) sinf(v * a) + b
ARITHMETIC(sine, float, E)
#undef E
#define E(v) powf(v * a, b) + 1.5F
ARITHMETIC(power, float, E)
#undef E
#define E(v) v* a + b
ARITHMETIC(double_fma, double, E)
#undef E
#define E(v) a / v + b
ARITHMETIC(double_division, double, E)
#undef E
#define E(v) exp(v * a) + b
ARITHMETIC(double_exp, double, E)
#undef E
#define E(v) a / v + b
ARITHMETIC(float_division, float, E)
#undef E
#define E(v) sqrtf(v + a) + b
ARITHMETIC(float_root, float, E)
#undef E
#define E(v) a / (v | 1) + v
ARITHMETIC(division_u32, u32, E)
#undef E
#define E(v) a % (v | 1) + b
ARITHMETIC(modulo_u64, u64, E)
#undef E
#define E(v) v * (v + a) + b
ARITHMETIC(multiply_u64, u64, E)
#undef E
#define E(v) __umulhi(v, a) + __popc(v) + __brev(v) + __clz(v)
ARITHMETIC(bit_counts, u32, E)
#undef E
#define E(v) static_cast<u32>(__float2half_rn(static_cast<float>(v) * 0.5F)) + a
ARITHMETIC(conversions, u32, E)
#undef E

__global__ void shuffles(u32* to, u32 turns) {
  u32 v = threadIdx.x;
  for (u32 t = 0; t < turns; ++t) v += __shfl_xor_sync(~0U, v, 1 + (t & 15));
  keep(to, v);
}
__global__ void ballots(u32* to, u32 turns) {
  u32 v = threadIdx.x;
  for (u32 t = 0; t < turns; ++t) v = v * 5 + __ballot_sync(~0U, (v >> (t & 7) & 1) != 0);
  keep(to, v);
}
__global__ void matches(u32* to, u32 turns) {
  u32 v = threadIdx.x;
  for (u32 t = 0; t < turns; ++t) v = v * 5 + __match_any_sync(~0U, v & 31);
  keep(to, v);
}
__global__ void redux(u32* to, u32 turns) {
  u32 v = threadIdx.x;
  for (u32 t = 0; t < turns; ++t) v = v * 5 + __reduce_add_sync(~0U, v);
  keep(to, v);
}
__global__ void clocks(u32* to, u32 turns) {
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) sum += static_cast<u32>(clock64()) + sum * 3;
  keep(to, sum);
}
__global__ void timers(u32* to, u32 turns) {
  u32 sum = 0;
  for (u32 t = 0; t < turns; ++t) {
    u64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    sum = sum * 3 + static_cast<u32>(now);
  }
  keep(to, sum);
}

// ---- the ring

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(code));
  std::exit(1);
}

struct Case {
  const char* name;
  void (*launch)();
};
#define CASE(NAME, GRID, BLOCK, ...) {#NAME, [] { NAME<<<GRID, BLOCK>>>(__VA_ARGS__); }}

const Case kRing[] = {
    CASE(local_array, 8, 1024, sink, 100),
    CASE(local_large, 32, 256, sink, 256),
    CASE(spills, 8, 1024, sink, 8),
    CASE(spills_255, 16, 128, sink, 16),
    CASE(few_warps, 264, 256, scratch, 8),
    CASE(atomic_one_word, 16, 256, sink, 64),
    CASE(atomic_one_word_unused, 64, 256, sink, 64),
    CASE(atomic_one_lane, 64, 256, sink, 32),
    CASE(atomic_float_word, 32, 256, reinterpret_cast<float*>(sink), 64),
    CASE(atomic_double_word, 16, 256, reinterpret_cast<double*>(sink), 32),
    CASE(atomic_cas_word, 16, 256, sink, 32),
    CASE(atomic_u64_max, 16, 256, reinterpret_cast<u64*>(sink), 32),
    CASE(atomic_line, 64, 256, sink, 64),
    CASE(atomic_scattered, 64, 256, scratch, 32),
    CASE(atomic_few_words, 64, 256, sink, 64),
    CASE(shared_conflicts, 1, 1024, sink, 128),
    CASE(shared_store_conflicts, 1, 1024, sink, 128),
    CASE(shared_wide_conflicts, 1, 1024, sink, 128),
    CASE(shared_atomic_word, 1, 1024, sink, 64),
    CASE(shared_atomic_spread, 1, 1024, sink, 512),
    CASE(shared_atomic_float, 1, 256, reinterpret_cast<float*>(sink), 16),
    CASE(shared_loads, 1, 1024, sink, 128),
    CASE(load_strided, 64, 256, scratch, sink, 64),
    CASE(load_bytes, 64, 256, reinterpret_cast<unsigned char*>(scratch), sink, 256),
    CASE(store_bytes, 64, 256, reinterpret_cast<unsigned char*>(scratch), 64),
    CASE(store_strided, 64, 256, scratch, 64),
    CASE(chase, 1, 32, scratch, sink, 256),
    CASE(l1_thrash, 16, 1024, scratch, sink, 256),
    CASE(l2_sets, 16, 256, scratch, sink, 256),
    CASE(volatile_word, 4, 1024, sink, sink, 64),
    CASE(mixed_spaces, 4, 1024, scratch, sink, 32),
    CASE(decoy_lane, 64, 256, scratch, 32),
    CASE(constant_divergent, 4, 1024, sink, 64),
    CASE(copy_async, 64, 256, scratch, sink, 32),
    CASE(divergent_switch, 1, 1024, sink, 32),
    CASE(indirect_calls, 1, 1024, sink, 64),
    CASE(recursion, 4, 256, sink, 16),
    CASE(barriers, 1, 1024, sink, 512),
    CASE(fences, 4, 1024, sink, 16),
    CASE(fences_system, 4, 256, sink, 16),
    CASE(releases, 4, 1024, sink, 16),
    CASE(releases_system, 4, 256, sink, 16),
    CASE(acquires, 4, 1024, sink, sink, 32),
    CASE(bulk_copies, 64, 32, scratch, sink, 32),
    CASE(tiny_blocks, 40000, 32, sink),
    CASE(one_thread, 1, 1, sink, 10000),
    {"shared_occupancy",
     [] {
       check(cudaFuncSetAttribute(shared_occupancy, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
       shared_occupancy<<<528, 128, 200 << 10>>>(scratch, sink, 16);
     }},
    CASE(long_code, 1, 32, sink, 4),
    CASE(heap, 2, 64, sink, 4),
    CASE(special, 1, 1024, sink, 256, 0.5F, 0.25F),
    CASE(sine, 1, 1024, sink, 32, 1e7F, 0.25F),
    CASE(power, 1, 1024, sink, 64, 0.5F, 1.3F),
    CASE(double_fma, 1, 1024, sink, 512, 0.5, 0.25),
    CASE(double_division, 1, 1024, sink, 64, 0.5, 0.25),
    CASE(double_exp, 1, 1024, sink, 64, 0.5, 0.25),
    CASE(float_division, 1, 1024, sink, 128, 0.5F, 0.25F),
    CASE(float_root, 1, 1024, sink, 128, 0.5F, 0.25F),
    CASE(division_u32, 1, 1024, sink, 128, 123456789U, 7U),
    CASE(modulo_u64, 1, 1024, sink, 64, 123456789123456789ULL, 7ULL),
    CASE(multiply_u64, 1, 1024, sink, 256, 0x12345678ABCDULL, 7ULL),
    CASE(bit_counts, 1, 1024, sink, 256, 5U, 7U),
    CASE(conversions, 1, 1024, sink, 256, 5U, 7U),
    CASE(shuffles, 1, 1024, sink, 512),
    CASE(ballots, 1, 1024, sink, 512),
    CASE(matches, 1, 1024, sink, 32),
    CASE(redux, 1, 1024, sink, 256),
    CASE(clocks, 1, 1024, sink, 512),
    CASE(timers, 1, 256, sink, 512),
};

double launch_us(const Case& kernel, int repeat) {
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&stop));
  kernel.launch();  // Warm-up: the code is loaded, the caches are filled.
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

/// far_pages alone needs 2 GiB.
void far_pages_case(int repeat) {
  static u32* pages = nullptr;
  check(cudaMalloc(&pages, u64{2} << 30));
  const Case kernel{"far_pages", [] { far_pages<<<32, 256>>>(pages, sink, 16); }};
  std::printf("%-24s %12.2f\n", kernel.name, launch_us(kernel, repeat));
  check(cudaFree(pages));
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
  check(cudaMalloc(&scratch, kBytes));
  check(cudaMalloc(&sink, 1 << 20));
  check(cudaMemset(scratch, 0, kBytes));
  check(cudaMemset(sink, 0, 1 << 20));
  for (const Case& kernel : kRing) {
    if (!wanted(kernel.name)) continue;
    std::printf("%-24s %12.2f\n", kernel.name, launch_us(kernel, repeat));
    std::fflush(stdout);
  }
  if (wanted("far_pages")) far_pages_case(repeat);
  return 0;
}
