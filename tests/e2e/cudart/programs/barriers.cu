// SPDX-License-Identifier: Apache-2.0
// What the CUDA C++ library makes of mbarrier and asynchronous copies.
// expect: barriers and pipelines are right
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "check.h"

constexpr int kThreads = 128;
constexpr int kBatches = 6;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Rounds of writing and reading what others wrote, held apart by the two phases of each round.
__global__ void rounds(int* out) {
  __shared__ Barrier barrier;
  __shared__ int data[kThreads];
  const int me = threadIdx.x;
  if (me == 0) init(&barrier, blockDim.x);
  __syncthreads();
  int sum = 0;
  for (int round = 1; round <= 3; ++round) {
    data[me] = me * round;
    barrier.wait(barrier.arrive());
    sum += data[kThreads - 1 - me];
    barrier.arrive_and_wait();
  }
  out[me] = sum;
}

// The block's copy arrives at the barrier like a thread.
__global__ void copies(const int* in, int* out) {
  __shared__ Barrier barrier;
  __shared__ alignas(16) int data[kThreads];
  const auto block = cooperative_groups::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  cuda::memcpy_async(block, data, in, cuda::aligned_size_t<16>(sizeof data), barrier);
  barrier.arrive_and_wait();
  out[threadIdx.x] = data[kThreads - 1 - threadIdx.x];
}

// A pipeline of two stages that the whole block shares.
__global__ void stages(const int* in, int* out) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ int data[2][kThreads];
  const auto block = cooperative_groups::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int fetched = 0, used = 0; used < kBatches; ++used) {
    for (; fetched < kBatches && fetched < used + 2; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, data[fetched % 2], in + fetched * kThreads, sizeof(int) * kThreads,
                         pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += data[used % 2][kThreads - 1 - threadIdx.x];
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}

int main() {
  int *in, *out;
  OK(cudaMallocManaged(&in, sizeof(int) * kThreads * kBatches));
  OK(cudaMallocManaged(&out, sizeof(int) * kThreads));
  for (int i = 0; i < kThreads * kBatches; ++i)
    in[i] = i * i % 1000;
  rounds<<<1, kThreads>>>(out);
  OK(cudaDeviceSynchronize());
  for (int i = 0; i < kThreads; ++i)
    CHECK(out[i] == 6 * (kThreads - 1 - i));
  copies<<<1, kThreads>>>(in, out);
  OK(cudaDeviceSynchronize());
  for (int i = 0; i < kThreads; ++i)
    CHECK(out[i] == in[kThreads - 1 - i]);
  stages<<<1, kThreads>>>(in, out);
  OK(cudaDeviceSynchronize());
  for (int i = 0; i < kThreads; ++i) {
    int sum = 0;
    for (int batch = 0; batch < kBatches; ++batch)
      sum += in[batch * kThreads + kThreads - 1 - i];
    CHECK(out[i] == sum);
  }
  OK(cudaFree(in));
  OK(cudaFree(out));
  std::puts("barriers and pipelines are right");
}
