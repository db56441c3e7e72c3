// SPDX-License-Identifier: Apache-2.0
// A release is a fence and a flag of one thread, an acquire a flag and a fence of one thread. With a
// barrier of the block between the two, which are then different threads', only fence.sc on both
// sides orders what they are to order: there is one order of all of them.
//
// CASE own none
// CASE own_sequential none
// CASE others global-race
// CASE others_awaited_by_acquire global-race
// CASE others_awaited_by_fence global-race
// CASE others_sequential none
// CASE others_sequential_awaited_by_acquire global-race
// CASE others_sequential_awaited_by_fence global-race
// CASE waiter_fences_for_all none
// CASE all_fence_for_the_waiter global-race
// CASE all_fence_for_the_waiter_sequential none
// CASE last_block none
// CASE last_block_by_acquire_release_fences global-race
// CASE fence_too_early global-race
// CASE flag_of_the_lane_that_fenced none
// CASE flag_of_its_neighbour global-race
// CASE flag_of_its_neighbour_sequential none
#include <cuda/atomic>

#include "case.h"

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
constexpr unsigned kThreads = 64;

enum Fence { None, AcqRel, Sequential };

__device__ void fence(Fence kind) {
  if (kind == AcqRel) cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_device);
  if (kind == Sequential) __threadfence();
}

struct Way {
  Fence all = None;       // before the barrier, by all threads that have written,
  Fence one = None;       // and behind it, by the one that raises the flag
  bool acquires = false;  // the load that waits
  Fence waiter = None;    // behind it, by the thread that has waited,
  Fence readers = None;   // and behind a barrier by all
};

__global__ void pass(unsigned* data, unsigned* flag, unsigned* out, Way way) {
  const unsigned thread = threadIdx.x;
  if (blockIdx.x == 0) {
    data[thread] = thread;
    fence(way.all);
    __syncthreads();
    if (thread != 0) return;
    fence(way.one);
    Flag(*flag).store(1, cuda::memory_order_relaxed);
    return;
  }
  if (thread == 0) {
    while (Flag(*flag).load(way.acquires ? cuda::memory_order_acquire : cuda::memory_order_relaxed) != 1) {}
    fence(way.waiter);
  }
  __syncthreads();
  fence(way.readers);
  out[thread] = data[thread];
}

// The last block to come adds up what all have left.
__global__ void sum(unsigned* data, unsigned* count, unsigned* out, Fence kind, bool early) {
  __shared__ bool last;
  const unsigned thread = threadIdx.x;
  if (early) fence(kind);
  data[blockIdx.x * kThreads + thread] = thread;
  if (!early) fence(kind);
  __syncthreads();
  if (thread == 0) last = atomicAdd(count, 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  fence(kind);
  unsigned all = 0;
  for (unsigned b = 0; b < gridDim.x; ++b)
    all += data[b * kThreads + thread];
  out[thread] = all;
}

// One lane of the warp fences, behind a barrier; that one or another raises the flag.
__global__ void neighbours(unsigned* data, unsigned* flag, unsigned* out, Fence kind, unsigned raiser) {
  const unsigned thread = threadIdx.x;
  if (blockIdx.x == 0) {
    data[thread] = thread;
    __syncthreads();
    if (thread == 0) fence(kind);
    __syncthreads();
    if (thread == raiser) Flag(*flag).store(1, cuda::memory_order_relaxed);
    return;
  }
  if (thread == 0) {
    while (Flag(*flag).load(cuda::memory_order_relaxed) != 1) {}
    fence(kind);
  }
  __syncthreads();
  out[thread] = data[thread];
}

int main(int argc, char** argv) {
  Case which(argc, argv);
  unsigned *data, *flag, *out;
  cudaMalloc(&data, 4 * kThreads * sizeof(unsigned));
  cudaMalloc(&out, kThreads * sizeof(unsigned));
  cudaMalloc(&flag, sizeof(unsigned));
  cudaMemset(flag, 0, sizeof(unsigned));
  const auto passes = [&](const char* name, Way way) {
    if (which.is(name)) pass<<<2, kThreads>>>(data, flag, out, way);
  };
  passes("own", {None, AcqRel, true});
  passes("own_sequential", {None, Sequential, false, AcqRel});
  passes("others", {AcqRel, None, false, AcqRel});
  passes("others_awaited_by_acquire", {AcqRel, None, true});
  passes("others_awaited_by_fence", {AcqRel, None, false, Sequential});
  passes("others_sequential", {Sequential, None, false, Sequential});
  passes("others_sequential_awaited_by_acquire", {Sequential, None, true});
  passes("others_sequential_awaited_by_fence", {Sequential, None, false, AcqRel});
  passes("waiter_fences_for_all", {None, AcqRel, false, AcqRel});
  passes("all_fence_for_the_waiter", {None, AcqRel, false, None, AcqRel});
  passes("all_fence_for_the_waiter_sequential", {None, Sequential, false, None, Sequential});
  const auto sums = [&](const char* name, Fence kind, bool early) {
    if (which.is(name)) sum<<<4, kThreads>>>(data, flag, out, kind, early);
  };
  sums("last_block", Sequential, false);
  sums("last_block_by_acquire_release_fences", AcqRel, false);
  sums("fence_too_early", Sequential, true);
  const auto raises = [&](const char* name, Fence kind, unsigned raiser) {
    if (which.is(name)) neighbours<<<2, kThreads>>>(data, flag, out, kind, raiser);
  };
  raises("flag_of_the_lane_that_fenced", AcqRel, 0);
  raises("flag_of_its_neighbour", AcqRel, 1);
  raises("flag_of_its_neighbour_sequential", Sequential, 1);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  cudaFree(data);
  cudaFree(out);
  cudaFree(flag);
  return which.end();
}
