// SPDX-License-Identifier: Apache-2.0
// The lanes of a warp run apart: a release or a wait of one of them speaks for the others only after
// they have met it at a __syncwarp() or a barrier. Shuffles and votes order nothing in memory.
//
// CASE release none
// CASE release_alone global-race
// CASE release_after_shuffle global-race
// CASE release_after_subset global-race
// CASE release_after_barrier none
// CASE release_each none
// CASE release_halves none
// CASE release_half_alone global-race
// CASE fence none
// CASE fence_alone global-race
// CASE fence_before_meeting global-race
// CASE fence_all none
// CASE fence_all_alone global-race
// CASE fence_each none
// CASE wait none
// CASE wait_alone global-race
// CASE wait_after_shuffle global-race
// CASE wait_after_barrier none
// CASE wait_all none
// CASE wait_fence none
// CASE wait_fence_alone global-race
// CASE wait_to_overwrite none
// CASE wait_to_overwrite_alone global-race
#include <cooperative_groups.h>

#include <cuda/atomic>

#include "case.h"

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
constexpr unsigned kLanes = 32;

enum Way {
  Alone, Sync, Shuffle, Subset, Barrier, Each, Halves, HalfAlone,
  Fence, FenceAlone, FenceFirst, FenceAll, FenceAllAlone, FenceEach
};

// All lanes write; one of them, or each, announces it.
template <typename T>
__device__ void produce(T* data, unsigned* flags, Way way) {
  const unsigned lane = threadIdx.x;
  data[lane] = T(lane);
  if (way == FenceFirst && lane == 0) __threadfence();
  if (way == FenceAll || way == FenceAllAlone || way == FenceEach) __threadfence();
  if (way == Sync || way == Fence || way == FenceFirst || way == FenceAll) __syncwarp();
  if (way == Barrier) __syncthreads();
  if (way == Shuffle) flags[kLanes] = __shfl_sync(~0u, lane, 5);
  if (way == Subset && lane == 0) __syncwarp(1);
  if (way == Halves || (way == HalfAlone && lane < 16)) {
    namespace cg = cooperative_groups;
    if (way == Halves) cg::tiled_partition<16>(cg::this_thread_block()).sync();
    if (way == HalfAlone) __syncwarp(0xFFFFu);
  }
  const bool announces = way == Each || way == FenceEach || lane == 0 || (way == Halves && lane == 16);
  if (!announces) return;
  if (way == Fence || way == FenceAlone) __threadfence();
  const bool fenced = way >= Fence;
  Flag(flags[lane]).store(1, fenced ? cuda::memory_order_relaxed : cuda::memory_order_release);
}

template <typename T>
__global__ void announce(T* data, unsigned* flags, unsigned* out, Way way) {
  if (blockIdx.x == 0) return produce(data, flags, way);
  // Here every lane waits by itself, for whoever is said to speak for what it reads.
  const unsigned lane = threadIdx.x;
  const unsigned whom = way == Each || way == FenceEach ? lane : way == Halves ? lane / 16 * 16 : 0;
  while (Flag(flags[whom]).load(cuda::memory_order_acquire) != 1) {}
  out[lane] = unsigned(data[lane]);
}

enum Wait { WaitAlone, WaitSync, WaitShuffle, WaitBarrier, WaitAll, WaitFence, WaitFenceAlone };

__global__ void await(unsigned* data, unsigned* flag, unsigned* out, Wait way, bool overwrites) {
  const unsigned lane = threadIdx.x;
  if (blockIdx.x == 0) {
    if (overwrites) {
      out[lane] = data[lane];
    } else {
      data[lane] = lane;
    }
    __syncwarp();
    if (lane == 0) Flag(*flag).store(1, cuda::memory_order_release);
    return;
  }
  const bool relaxed = way == WaitFence || way == WaitFenceAlone;
  if (lane == 0 || way == WaitAll) {
    while (Flag(*flag).load(relaxed ? cuda::memory_order_relaxed : cuda::memory_order_acquire) != 1) {}
    if (relaxed) __threadfence();
  }
  if (way == WaitSync || way == WaitFence) __syncwarp();
  if (way == WaitBarrier) __syncthreads();
  if (way == WaitShuffle && __shfl_sync(~0u, lane, 0) != 0) return;
  if (overwrites) {
    data[lane] = 7;
  } else {
    out[lane] = data[lane];
  }
}

int main(int argc, char** argv) {
  Case chosen(argc, argv);
  unsigned *data, *flags, *out;
  cudaMalloc(&data, kLanes * sizeof(unsigned));
  cudaMalloc(&flags, 2 * kLanes * sizeof(unsigned));
  cudaMalloc(&out, kLanes * sizeof(unsigned));
  cudaMemset(data, 0, kLanes * sizeof(unsigned));
  cudaMemset(flags, 0, 2 * kLanes * sizeof(unsigned));
  const auto writes = [&](const char* name, Way way) {
    if (!chosen.is(name)) return;
    announce<<<2, kLanes>>>(data, flags, out, way);
    cudaMemset(flags, 0, 2 * kLanes * sizeof(unsigned));
    announce<<<2, kLanes>>>(reinterpret_cast<unsigned short*>(data), flags, out, way);
  };
  writes("release", Sync);
  writes("release_alone", Alone);
  writes("release_after_shuffle", Shuffle);
  writes("release_after_subset", Subset);
  writes("release_after_barrier", Barrier);
  writes("release_each", Each);
  writes("release_halves", Halves);
  writes("release_half_alone", HalfAlone);
  writes("fence", Fence);
  writes("fence_alone", FenceAlone);
  writes("fence_before_meeting", FenceFirst);
  writes("fence_all", FenceAll);
  writes("fence_all_alone", FenceAllAlone);
  writes("fence_each", FenceEach);
  const auto waits = [&](const char* name, Wait way, bool overwrites = false) {
    if (chosen.is(name)) await<<<2, kLanes>>>(data, flags, out, way, overwrites);
  };
  waits("wait", WaitSync);
  waits("wait_alone", WaitAlone);
  waits("wait_after_shuffle", WaitShuffle);
  waits("wait_after_barrier", WaitBarrier);
  waits("wait_all", WaitAll);
  waits("wait_fence", WaitFence);
  waits("wait_fence_alone", WaitFenceAlone);
  waits("wait_to_overwrite", WaitSync, true);
  waits("wait_to_overwrite_alone", WaitAlone, true);
  const bool failed = cudaDeviceSynchronize() != cudaSuccess;
  cudaFree(data);
  cudaFree(flags);
  cudaFree(out);
  return failed ? 1 : chosen.end();
}
