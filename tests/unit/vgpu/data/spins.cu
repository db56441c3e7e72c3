// SPDX-License-Identifier: Apache-2.0
// Ways to wait for a flag. Block 0 waits, block 1 (if there is one) sets all flags after 50 us.
// spins.ptx was made by
//   nvcc -O3 -std=c++17 -arch=compute_90 -ptx spins.cu -o spins.ptx
#include <cuda/atomic>

constexpr int kFlags = 1000;

// Returns false for those who only set the flags.
__device__ bool waits(int* flags) {
  if (blockIdx.x == 0) return true;
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int i = 0; i < 50; ++i)
      __nanosleep(1000);
#pragma unroll 1
    for (int i = 0; i < kFlags; ++i)
      *(volatile int*)(flags + i) = 1;
  }
  return false;
}
__device__ __noinline__ int poll_called(volatile int* p) {
  return *p;
}
__device__ __forceinline__ bool poll_inlined(const volatile int* p, int wanted) {
  return *p >= wanted;
}

#define WAITER(name, ...)                                 \
  extern "C" __global__ void name(int* flags, int* out) { \
    if (!waits(flags)) return;                            \
    volatile int* p = flags;                              \
    (void)p;                                              \
    __VA_ARGS__ out[threadIdx.x] = 1;                     \
  }

WAITER(changes, {
  const int before = *p;
  while (*p == before) {
  }
})
WAITER(two_places, {
  while (p[0] == 0 || p[1] == 0) {
  }
})
WAITER(either_place, {
  for (;;) {
    if (p[0] != 0) break;
    if (p[1] != 0) break;
  }
})
WAITER(unrolled, {
  _Pragma("unroll 4") while (*p == 0) {}
})
WAITER(unrolled_by_hand, {
  for (;;) {
    if (*p) break;
    if (*p) break;
    if (*p) break;
    if (*p) break;
  }
})
WAITER(backs_off, {
  unsigned ns = 8;
  while (*p == 0) {
    __nanosleep(ns);
    if (ns < 256) ns *= 2;
  }
})
WAITER(acquires, {
  cuda::atomic_ref<int, cuda::thread_scope_device> a(*flags);
  while (a.load(cuda::memory_order_acquire) == 0) {
  }
})
WAITER(atomic_wait, {
  cuda::atomic_ref<int, cuda::thread_scope_system> a(*flags);
  a.wait(0);
})
WAITER(adds_nothing, {
  while (atomicAdd(flags, 0) == 0) {
  }
})
WAITER(swaps_in_vain, {
  while (atomicCAS(flags, 1, 1) == 0) {
  }
})
WAITER(ors_nothing, {
  while (atomicOr(flags, 0) == 0) {
    __threadfence();
  }
})
WAITER(inlined, {
  while (!poll_inlined(p, 1)) {
  }
})
WAITER(called, {
  while (poll_called(p) == 0) {
  }
})
WAITER(one_lane_for_the_warp, {
  if (threadIdx.x % 32 == 0) {
    while (*p == 0) {
    }
  }
  __syncwarp();
})
WAITER(one_thread_for_the_block, {
  if (threadIdx.x == 0) {
    while (*p == 0) {
    }
  }
  __syncthreads();
})
WAITER(meets_in_the_loop, {
  int seen = 0;
  while (!seen) {
    if (threadIdx.x % 32 == 0) seen = *p;
    __syncwarp();
    seen = __shfl_sync(~0u, seen, 0);
  }
})
WAITER(votes_in_the_loop, {
  while (!__all_sync(~0u, p[threadIdx.x] != 0)) {
  }
})
WAITER(own_places, {
  while (p[threadIdx.x] == 0) {
  }
})
WAITER(in_turn, {
  int i = 0;
  while (p[i] == 0)
    i = (i + 1) % 40;
})
WAITER(many_in_turn, {
  int i = threadIdx.x;
  while (p[i] == 0)
    i = (i + 32) % kFlags;
})
WAITER(all_in_order, {
  for (int i = 0; i < kFlags; ++i)
    while (p[i] == 0) {
    }
})
WAITER(plain_with_fence, {
  while (*flags == 0)
    __threadfence();
})
WAITER(past_the_cache, {
  while (__ldcg(flags) == 0) {
    asm volatile("" ::: "memory");
  }
})
WAITER(not_cached, {
  while (__ldcv(flags) == 0) {
    asm volatile("" ::: "memory");
  }
})
WAITER(stack_in_the_loop, {
  volatile int local[4];
  int i = 0;
  do {
    local[i & 3] = *p;
    i ^= 1;
  } while (local[(i ^ 1) & 3] == 0);
})
WAITER(reads_the_clock_first, {
  const long long t = clock64();
  while (*p == 0) {
  }
  if (clock64() < t) return;
})
WAITER(reads_the_clock_always, {
  const long long t = clock64();
  while (*p == 0) {
    if (clock64() < t) return;
  }
})
// These end by themselves.
WAITER(counts_down, {
  int i = 0;
  while (i < 20000 && *p == 0)
    ++i;
  out[64 + threadIdx.x] = i;
})
WAITER(counts_down_around_a_call, {
  int i = 0;
  while (i < 20000 && poll_called(p) == 0)
    ++i;
  out[64 + threadIdx.x] = i;
})
WAITER(times_out, {
  const long long t = clock64();
  while (*p == 0 && clock64() - t < 200000000) {
  }
  out[64 + threadIdx.x] = 20000;
})
