/* SPDX-License-Identifier: Apache-2.0
 *
 * Enough of CUDA and NCCL for an oracle that runs a program's own computation on the host, in
 * double precision: kernels as functions, all threads of a block in turns, all ranks in turns,
 * every `float` a Number. What is not here does not compile; write that part of the oracle by hand.
 *
 * Include it behind all other headers: it redefines `float`.
 */
#ifndef CUCO_ORACLE_DEVICE_H
#define CUCO_ORACLE_DEVICE_H

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <type_traits>

#include "cuco/oracle.h"
#include "cuco/oracle_fibers.h"
#include "cuco/oracle_numbers.h"
#include "cuco/oracle_traced.h"

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
inline dim3 gridDim, blockDim;
inline uint3 blockIdx, threadIdx;
inline constexpr int warpSize = 32;

struct float2 {
  cuco_oracle::Number x, y;
};
struct float4 {
  cuco_oracle::Number x, y, z, w;
};
inline float2 make_float2(cuco_oracle::Number x, cuco_oracle::Number y) {
  return {x, y};
}
inline float4 make_float4(cuco_oracle::Number x,
                          cuco_oracle::Number y,
                          cuco_oracle::Number z,
                          cuco_oracle::Number w) {
  return {x, y, z, w};
}

namespace cuco_oracle {

/* The threads of the block that runs. */
struct ThreadBlock {
  Gate all;
  std::vector<Gate> warps;
  std::vector<unsigned char> slots; /* 16 bytes of each thread, for what a warp exchanges. */
  static inline ThreadBlock* current = nullptr;
};

/* A gate of the block; who goes on is itself again. */
inline void pass(Gate& gate) {
  const uint3 me = threadIdx;
  gate.pass();
  threadIdx = me;
}

inline unsigned thread_number() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

inline void go_to(unsigned number) {
  threadIdx.x = number % blockDim.x;
  threadIdx.y = number / blockDim.x % blockDim.y;
  threadIdx.z = number / blockDim.x / blockDim.y;
}

template <typename Kernel>
void run_block(const Kernel& kernel, unsigned threads, bool synchronises) {
  if (!synchronises) {
    for (unsigned i = 0; i < threads; ++i) {
      go_to(i);
      kernel();
    }
    return;
  }
  ThreadBlock block;
  block.all.members = static_cast<int>(threads);
  block.warps.resize((threads + 31) / 32);
  for (unsigned i = 0; i < threads; ++i)
    ++block.warps[i / 32].members;
  block.slots.resize(16 * std::size_t{threads});
  ThreadBlock::current = &block;
  const Crew::Body body = [&](int number) {
    go_to(static_cast<unsigned>(number));
    kernel();
    block.all.leave();
    block.warps[static_cast<unsigned>(number) / 32].leave();
  };
  Crew(static_cast<int>(threads), 64U << 10U, body).run();
}

/* `synchronises`: threads of a block or warp wait for each other. */
template <typename Kernel>
void launch(dim3 grid, dim3 block, bool synchronises, const Kernel& kernel) {
  gridDim = grid;
  blockDim = block;
  for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x)
        run_block(kernel, block.x * block.y * block.z, synchronises);
}

/* Every lane gives a value and gets that of lane `from(own lane)`, or keeps its own. */
template <typename T, typename From>
T exchange(T mine, From from) {
  static_assert(sizeof(T) <= 16 && std::is_trivially_copyable_v<T>);
  ThreadBlock& block = *ThreadBlock::current;
  const unsigned number = thread_number(), lane = number % 32;
  std::memcpy(&block.slots[16 * std::size_t{number}], &mine, sizeof mine);
  pass(block.warps[number / 32]);
  const int source = from(static_cast<int>(lane));
  const std::size_t other = number - lane + static_cast<unsigned>(source);
  const bool is_there = source >= 0 && source < 32 && 16 * other < block.slots.size();
  T got = mine;
  if (is_there) std::memcpy(static_cast<void*>(&got), &block.slots[16 * other], sizeof got);
  pass(block.warps[number / 32]);
  return got;
}

}  // namespace cuco_oracle

inline void __syncthreads() {
  cuco_oracle::pass(cuco_oracle::ThreadBlock::current->all);
}
inline void __syncwarp(unsigned = ~0U) {
  cuco_oracle::pass(cuco_oracle::ThreadBlock::current->warps[cuco_oracle::thread_number() / 32]);
}
template <typename T>
T __shfl_down_sync(unsigned, T value, unsigned by, int width = 32) {
  return cuco_oracle::exchange(value, [=](int lane) {
    return lane % width + static_cast<int>(by) < width ? lane + static_cast<int>(by) : lane;
  });
}
template <typename T>
T __shfl_up_sync(unsigned, T value, unsigned by, int width = 32) {
  return cuco_oracle::exchange(value, [=](int lane) {
    return lane % width >= static_cast<int>(by) ? lane - static_cast<int>(by) : lane;
  });
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask, int = 32) {
  return cuco_oracle::exchange(value, [=](int lane) { return lane ^ mask; });
}
template <typename T>
T __shfl_sync(unsigned, T value, int from, int width = 32) {
  return cuco_oracle::exchange(
      value, [=](int lane) { return lane / width * width + (from % width + width) % width; });
}
template <typename T, typename U>
T atomicAdd(T* to, U value) {
  const T old = *to;
  *to = old + T(value);
  return old;
}
template <typename T>
T __ldg(const T* from) {
  return *from;
}

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define float cuco_oracle::Number

#include "cuco/oracle_host.h"

#endif
