// SPDX-License-Identifier: Apache-2.0
// What a wait orders is what its comparison demands, however late it looks. In each case the writers
// are long done when the reader comes: what it finds is newer than what it waits for.
//
// CASE less_than none
// CASE less_than_old global-race
// CASE not_equal none
// CASE not_equal_old global-race
// CASE equal none
// CASE rolling none
// CASE rolling_old global-race
// CASE masked_old global-race
// CASE epoch_in_memory none
// CASE epoch_in_memory_old global-race
// CASE value_is_used none
// CASE vote none
// CASE vote_old global-race
// CASE two_writers global-race
// CASE tickets none
// CASE tickets_too_few global-race
// CASE tickets_relaxed global-race
// CASE last_block none
// CASE lock none
// CASE lock_block_fence global-race
// CASE lock_no_fence global-race
// CASE grid_sync none
// CASE sense none
// CASE ring none
// CASE ring_far global-race
// CASE epochs_in_a_loop none
// CASE flags_in_a_loop none
// CASE flags_in_a_loop_old global-race
// CASE added_nothing none
// CASE added_nothing_old global-race
// CASE or_nothing none
// CASE or_nothing_old global-race
// CASE and_all none
// CASE and_all_old global-race
// CASE greatest_of_nothing none
// CASE greatest_of_nothing_old global-race
// CASE swapped_for_itself none
// CASE swapped_for_itself_old global-race
// CASE shared_flag none
// CASE shared_flag_old shared-race
// CASE shared_tickets none
// CASE shared_tickets_too_few shared-race
// CASE shared_lock none
// CASE shared_flag_reset none
#include <string>

#include <cooperative_groups.h>

#include <cuda/atomic>

#include "case.h"

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
constexpr unsigned kEpochs = 3;

// Writes data[e] and raises the flag to e, for e = 1, 2, 3: everything is there at once.
__device__ void produce(int* data, unsigned* flag) {
  for (unsigned e = 1; e <= kEpochs; ++e) {
    data[e] = int(e);
    Flag(*flag).store(e, cuda::memory_order_release);
  }
}

// Long enough for the other block to be done.
__device__ void dawdle() {
  for (int i = 0; i < 100; ++i) __nanosleep(1000);
}

enum Way { LessThan, NotEqual, Equal, Rolling, Masked, InMemory, Used, Vote };

__global__ void late(int* data, unsigned* flag, unsigned* epoch, int* out, int way, unsigned wait, int read) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) produce(data, flag);
    return;
  }
  dawdle();
  const auto look = [&] { return Flag(*flag).load(cuda::memory_order_acquire); };
  if (way == Vote) {
    while (!__all_sync(~0u, look() >= wait)) {}
    if (threadIdx.x == 0) *out = data[read];
    return;
  }
  if (threadIdx.x != 0) return;
  if (way == LessThan) while (look() < wait) {}
  if (way == NotEqual) while (look() == wait - 1) {}
  if (way == Equal) while (look() != wait) {}
  if (way == Rolling) while (int(look() - wait) < 0) {}
  if (way == Masked) while ((look() & wait) == 0) {}
  if (way == InMemory) while (look() < *(volatile unsigned*)epoch) {}
  if (way == Used) read = int(look());
  *out = data[read];
}

// Every block adds one when its part is there; whoever reads demands `demand`.
__global__ void tickets(int* data, unsigned* count, int* out, unsigned demand, bool release) {
  if (threadIdx.x != 0) return;
  const unsigned writers = gridDim.x - 1;
  if (blockIdx.x < writers) {
    data[blockIdx.x] = int(blockIdx.x);
    Flag(*count).fetch_add(1, release ? cuda::memory_order_release : cuda::memory_order_relaxed);
    return;
  }
  dawdle();
  while (Flag(*count).load(cuda::memory_order_acquire) < demand) {}
  int sum = 0;
  for (unsigned b = 0; b < writers; ++b) sum += data[b];
  *out = sum;
}

__global__ void two_writers(int* data, unsigned* flag, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x < 2) {
    data[blockIdx.x] = 1;
    Flag(*flag).store(1, cuda::memory_order_release);
    return;
  }
  dawdle();
  while (Flag(*flag).load(cuda::memory_order_acquire) == 0) {}
  *out = data[0] + data[1];
}

__global__ void last_block(int* data, unsigned* count, int* out) {
  if (threadIdx.x != 0) return;
  for (int round = 0; round < 2; ++round) {
    data[blockIdx.x + round * gridDim.x] = 1;
    __threadfence();
    const bool last = atomicAdd(count + round, 1) == gridDim.x - 1;
    __threadfence();
    if (!last) continue;
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += data[b + round * gridDim.x];
    *out = sum;
  }
}

enum Fence { None, BlockFence, DeviceFence };

__global__ void locked(int* data, unsigned* lock, int fence) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {}
  if (fence == BlockFence) __threadfence_block();
  if (fence == DeviceFence) __threadfence();
  *data += 1;
  __threadfence();
  atomicExch(lock, 0);
}

__global__ void grid_sync(int* data, int* out) {
  const auto grid = cooperative_groups::this_grid();
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) data[blockIdx.x] = round;
    grid.sync();
    if (threadIdx.x == 0) out[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];
    grid.sync();
  }
}

// A barrier of two blocks with a sense that goes back and forth: 1, 0, 1, …
__global__ void sense(int* data, unsigned* state, int* out) {
  if (threadIdx.x != 0) return;
  unsigned mine = 0;
  for (int round = 0; round < 5; ++round) {
    data[blockIdx.x] = round;
    mine ^= 1;
    for (int half = 0; half < 1; ++half) {
      if (Flag(state[0]).fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1) {
        Flag(state[0]).store(0, cuda::memory_order_relaxed);
        Flag(state[1]).store(mine, cuda::memory_order_release);
      } else {
        while (Flag(state[1]).load(cuda::memory_order_acquire) != mine) {}
      }
    }
    if (round % 2 == 0) continue;  // the next round's barrier is before the next write of this cell
    out[blockIdx.x] = round;
  }
}

// Slots filled one after the other; the reader takes them as far as the head has come.
__global__ void ring(int* data, unsigned* head, int* out, bool far) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    for (int i = 0; i < 8; ++i) {
      data[i] = i;
      Flag(*head).store(i + 1, cuda::memory_order_release);
    }
    return;
  }
  int sum = 0;
  if (far) {
    dawdle();
    while (Flag(*head).load(cuda::memory_order_acquire) < 4) {}
    for (int i = 0; i < 8; ++i) sum += data[i];
  }
  for (unsigned i = 0; !far && i < 8;) {
    const unsigned end = Flag(*head).load(cuda::memory_order_acquire);
    for (; i < end; ++i) sum += data[i];
  }
  *out = sum;
}

// The same load again and again: for the next epoch, or for the next flag.
__global__ void loops(int* data, unsigned* flags, int* out, unsigned epochs, unsigned places, unsigned least) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    for (unsigned e = 1; e <= epochs; ++e) {
      for (unsigned p = 0; p < places; ++p) {
        data[e * places + p] = 1;
        Flag(flags[p]).store(e, cuda::memory_order_release);
      }
    }
    return;
  }
  dawdle();
  int sum = 0;
  for (unsigned e = places == 1 ? 1 : epochs; e <= epochs; ++e) {
    for (unsigned p = 0; p < places; ++p) {
      while (Flag(flags[p]).load(cuda::memory_order_acquire) < (places == 1 ? e : least)) {}
      if (places == 1) sum += data[e];
    }
  }
  for (unsigned p = 0; places > 1 && p < places; ++p) sum += data[epochs * places + p];
  *out = sum;
}

enum Read { Add, Or, And, Max, Swap };

__device__ unsigned read_by(int how, unsigned* flag) {
  if (how == Or) return atomicOr(flag, 0);
  if (how == And) return atomicAnd(flag, ~0u);
  if (how == Max) return atomicMax(flag, 0u);
  if (how == Swap) return atomicCAS(flag, 7, 7);
  return atomicAdd(flag, 0);
}

// An atomic operation that changes nothing is a read.
__global__ void unchanged(int* data, unsigned* flag, int* out, int how, unsigned wait) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) return produce(data, flag);
  dawdle();
  while (read_by(how, flag) < wait) {}
  __threadfence();
  *out = data[3];
}

// The same between the warps of a block, in shared memory.
__global__ void in_shared(int* out, unsigned wait) {
  __shared__ int data[kEpochs + 1];
  __shared__ unsigned flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  volatile unsigned* look = &flag;
  if (threadIdx.x == 0) {
    for (unsigned e = 1; e <= kEpochs; ++e) {
      data[e] = int(e);
      __threadfence_block();
      *look = e;
    }
  } else if (threadIdx.x == 32) {
    dawdle();
    while (*look < wait) {}
    __threadfence_block();
    *out = data[kEpochs];
  }
}

__global__ void shared_tickets(int* out, unsigned wait) {
  __shared__ int data[4];
  __shared__ unsigned count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  const unsigned warp = threadIdx.x / 32;
  if (threadIdx.x % 32 != 0) return;
  if (warp < 4) {
    data[warp] = int(warp);
    __threadfence_block();
    atomicAdd(&count, 1);
    return;
  }
  dawdle();
  while (*(volatile unsigned*)&count < wait) {}
  __threadfence_block();
  *out = data[0] + data[1] + data[2] + data[3];
}

__global__ void shared_lock(int* out) {
  __shared__ int sum;
  __shared__ unsigned lock;
  if (threadIdx.x == 0) sum = 0, lock = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    while (*(volatile unsigned*)&lock != 0 || atomicCAS(&lock, 0, 1) != 0) {}
    __threadfence_block();
    sum += 1;
    __threadfence_block();
    atomicExch(&lock, 0);
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = sum;
}

// Each round the flag is put back by a plain store, between barriers.
__global__ void shared_reset(int* out) {
  __shared__ int data;
  __shared__ unsigned flag;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 32) {
      data = round;
      __threadfence_block();
      *(volatile unsigned*)&flag = 1;
    } else if (threadIdx.x == 0) {
      while (*(volatile unsigned*)&flag == 0) {}
      __threadfence_block();
      *out = data;
    }
    __syncthreads();
  }
}

int main(int argc, char** argv) {
  Case c(argc, argv);
  int *data, *out;
  unsigned *flag, *epoch;
  cudaMalloc(&data, 4096), cudaMalloc(&out, 4096), cudaMalloc(&flag, 64), cudaMalloc(&epoch, 64);
  cudaMemset(data, 0, 4096), cudaMemset(flag, 0, 64);
  const auto run = [&](int way, unsigned wait, int read) {
    cudaMemcpy(epoch, &wait, sizeof wait, cudaMemcpyHostToDevice);
    late<<<2, 32>>>(data, flag, epoch, out, way, wait, read);
  };
  if (c.is("less_than")) run(LessThan, 3, 3);
  if (c.is("less_than_old")) run(LessThan, 1, 3);
  if (c.is("not_equal")) run(NotEqual, 1, 1);
  if (c.is("not_equal_old")) run(NotEqual, 1, 2);
  if (c.is("equal")) run(Equal, 3, 3);
  if (c.is("rolling")) run(Rolling, 3, 3);
  if (c.is("rolling_old")) run(Rolling, 2, 3);
  if (c.is("masked_old")) run(Masked, 2, 3);
  if (c.is("epoch_in_memory")) run(InMemory, 3, 3);
  if (c.is("epoch_in_memory_old")) run(InMemory, 2, 3);
  if (c.is("value_is_used")) run(Used, 0, 0);
  if (c.is("vote")) run(Vote, 3, 3);
  if (c.is("vote_old")) run(Vote, 2, 3);
  if (c.is("two_writers")) two_writers<<<3, 32>>>(data, flag, out);
  if (c.is("tickets")) tickets<<<5, 32>>>(data, flag, out, 4, true);
  if (c.is("tickets_too_few")) tickets<<<5, 32>>>(data, flag, out, 3, true);
  if (c.is("tickets_relaxed")) tickets<<<5, 32>>>(data, flag, out, 4, false);
  if (c.is("last_block")) last_block<<<4, 32>>>(data, flag, out);
  if (c.is("lock")) locked<<<4, 32>>>(data, flag, DeviceFence);
  if (c.is("lock_block_fence")) locked<<<4, 32>>>(data, flag, BlockFence);
  if (c.is("lock_no_fence")) locked<<<4, 32>>>(data, flag, None);
  if (c.is("grid_sync")) {
    void* arguments[] = {&data, &out};
    cudaLaunchCooperativeKernel((void*)grid_sync, dim3(8), dim3(64), arguments, 0, nullptr);
  }
  if (c.is("sense")) sense<<<2, 32>>>(data, flag, out);
  if (c.is("ring")) ring<<<2, 32>>>(data, flag, out, false);
  if (c.is("ring_far")) ring<<<2, 32>>>(data, flag, out, true);
  if (c.is("epochs_in_a_loop")) loops<<<2, 32>>>(data, flag, out, 5, 1, 0);
  if (c.is("flags_in_a_loop")) loops<<<2, 32>>>(data, flag, out, 2, 8, 2);
  if (c.is("flags_in_a_loop_old")) loops<<<2, 32>>>(data, flag, out, 2, 8, 1);
  const char* names[] = {"added_nothing", "or_nothing", "and_all", "greatest_of_nothing", "swapped_for_itself"};
  for (int how = Add; how <= Swap; ++how) {
    if (c.is(names[how])) unchanged<<<2, 32>>>(data, flag, out, how, 3);
    if (c.is((std::string(names[how]) + "_old").c_str())) unchanged<<<2, 32>>>(data, flag, out, how, 2);
  }
  if (c.is("shared_flag")) in_shared<<<1, 64>>>(out, 3);
  if (c.is("shared_flag_old")) in_shared<<<1, 64>>>(out, 2);
  if (c.is("shared_tickets")) shared_tickets<<<1, 160>>>(out, 4);
  if (c.is("shared_tickets_too_few")) shared_tickets<<<1, 160>>>(out, 3);
  if (c.is("shared_lock")) shared_lock<<<1, 128>>>(out);
  if (c.is("shared_flag_reset")) shared_reset<<<1, 64>>>(out);
  cudaDeviceSynchronize();
  cudaFree(data), cudaFree(out), cudaFree(flag), cudaFree(epoch);
  return c.end();
}
