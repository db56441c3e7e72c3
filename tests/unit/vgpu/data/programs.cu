// SPDX-License-Identifier: Apache-2.0
// Programs whose answers are easy to state and whose execution is not. programs.ptx was made by
//   nvcc -O3 -std=c++17 -arch=compute_90 -ptx -lineinfo programs.cu -o programs.ptx
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;

// Every lane takes the same lock: lanes of a warp must not starve each other.
extern "C" __global__ void intra_warp_lock(int* lock, int* counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *(volatile int*)counter = *(volatile int*)counter + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

// The same with the critical section behind the loop: the winner waits for the losers at the lower pc.
extern "C" __global__ void naive_lock(int* lock, int* counter) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  *(volatile int*)counter = *(volatile int*)counter + 1;
  __threadfence();
  atomicExch(lock, 0);
}

extern "C" __global__ void grid_sync(int* data, int* out, int rounds) {
  cg::grid_group grid = cg::this_grid();
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  int n = gridDim.x * blockDim.x;
  for (int r = 0; r < rounds; ++r) {
    int next = data[(id + 1) % n];
    grid.sync();
    data[id] = next + 1;
    grid.sync();
  }
  out[id] = data[id];
}

extern "C" __global__ void block_sum(const int* in, int n, int* out) {
  __shared__ int part[32];
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x == 0) *out = sum;
  }
}

extern "C" __global__ void histogram(const unsigned char* in, int n, unsigned* bins) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (local[i]) atomicAdd(&bins[i], local[i]);
}

// A chain: block b waits for block b-1's flag (decoupled look-back in small).
extern "C" __global__ void chain(volatile int* flags, int* value) {
  if (threadIdx.x == 0) {
    if (blockIdx.x > 0)
      while (flags[blockIdx.x - 1] == 0) {
      }
    __threadfence();
    *value = *value * 3 % 1000 + (int)blockIdx.x;
    __threadfence();
    flags[blockIdx.x] = 1;
  }
}

struct Shape {
  __device__ virtual int area() const = 0;
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Line : Shape {
  __device__ int area() const override { return -1; }
};
extern "C" __global__ void virtual_calls(int* out) {
  Shape* shape = threadIdx.x % 3 == 0 ? (Shape*)new Line() : (Shape*)new Square(threadIdx.x);
  out[threadIdx.x] = shape->area();
  delete shape;
}

__device__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void recursion(int* out) { out[threadIdx.x] = ackermann(threadIdx.x % 3, 3); }

extern "C" __global__ void prints(int n) {
  if (threadIdx.x < 2) printf("thread %d of %u: %5.2f %s %lld\n", threadIdx.x, blockDim.x, n / 4.0, "ok", 1LL << 40);
}

// Warp-synchronous code in divergent branches, each with its own mask.
extern "C" __global__ void masked_ballots(unsigned* out) {
  unsigned lane = threadIdx.x % 32;
  unsigned result;
  if (lane < 20) {
    unsigned mask = 0x000fffff;
    if (lane % 2) result = __popc(lane); else result = lane;
    __syncwarp(mask);
    result = __ballot_sync(mask, result > 2);
  } else {
    result = __ballot_sync(0xfff00000, lane > 25);
  }
  out[threadIdx.x] = result;
}

extern "C" __global__ void clocks(long long* out) {
  long long a = clock64();
  unsigned long long t0, t1;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
  __nanosleep(1000);
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t1));
  long long b = clock64();
  out[0] = b - a;
  out[1] = t1 - t0;
}
