// SPDX-License-Identifier: Apache-2.0
// Barriers and masks that threads disagree about, and twins that agree.
//
// CASE barrier_in_two_branches barrier-mismatch
// CASE barrier_after_branches none
// CASE barrier_half_a_warp barrier-mismatch
// CASE barrier_whole_warps none
// CASE named_barriers_apart barrier-mismatch
// CASE named_barrier_pair none
// CASE early_return none
// CASE mask_without_the_caller invalid-mask
// CASE ballot_without_the_caller invalid-mask
// CASE mask_of_the_callers none
// CASE ballot_of_the_callers none
#include "case.h"

__global__ void branches(int* out, bool joined) {
  if (threadIdx.x < 32) {
    out[threadIdx.x] = 1;
    if (!joined) __syncthreads();
  } else {
    out[threadIdx.x] = 2;
    if (!joined) __syncthreads();
  }
  if (joined) __syncthreads();
}

__global__ void some_wait(int* out, unsigned who) {
  if (threadIdx.x < who) __syncthreads();
  out[threadIdx.x] = 1;
  if (threadIdx.x >= who) __syncthreads();
}

__global__ void named(int* out, int other) {
  if (threadIdx.x < 32) {
    asm volatile("barrier.sync 1, 64;");
  } else {
    asm volatile("barrier.sync %0, 64;" ::"r"(other));
  }
  out[threadIdx.x] = 1;
}

__global__ void returns_early(int* out) {
  if (threadIdx.x >= 40) return;
  out[threadIdx.x] = 1;
  __syncthreads();
  out[64 + threadIdx.x] = out[39 - threadIdx.x];
}

__global__ void shuffle(int* out, unsigned mask) {
  int value = threadIdx.x;
  if (threadIdx.x < 16) value = __shfl_down_sync(mask, value, 1);
  out[threadIdx.x] = value;
}

__global__ void ballot(unsigned* out, unsigned mask) {
  if (threadIdx.x >= 8) out[threadIdx.x] = __ballot_sync(mask, threadIdx.x & 1);
}

int main(int argc, char** argv) {
  Case run(argc, argv);
  int* out = nullptr;
  cudaMalloc(&out, 4096);
  cudaMemset(out, 0, 4096);
  if (run.is("barrier_in_two_branches")) branches<<<1, 64>>>(out, false);
  if (run.is("barrier_after_branches")) branches<<<1, 64>>>(out, true);
  if (run.is("barrier_half_a_warp")) some_wait<<<1, 64>>>(out, 16);
  if (run.is("barrier_whole_warps")) some_wait<<<1, 64>>>(out, 64);
  if (run.is("named_barriers_apart")) named<<<1, 64>>>(out, 2);
  if (run.is("named_barrier_pair")) named<<<1, 64>>>(out, 1);
  if (run.is("early_return")) returns_early<<<1, 64>>>(out);
  if (run.is("mask_without_the_caller")) shuffle<<<1, 32>>>(out, 0xFFF0);
  if (run.is("ballot_without_the_caller")) ballot<<<1, 32>>>((unsigned*)out, 0xFF);
  if (run.is("mask_of_the_callers")) shuffle<<<1, 32>>>(out, 0xFFFF);
  if (run.is("ballot_of_the_callers")) ballot<<<1, 32>>>((unsigned*)out, 0xFFFFFF00);
  cudaDeviceSynchronize();
  cudaFree(out);
  return run.end();
}
