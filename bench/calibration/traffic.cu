// SPDX-License-Identifier: Apache-2.0
/// \file
/// What HBM gives to traffic that is not one long stream: pieces of a few bytes at random places,
/// columns of matrices whose rows are a power of two apart, and reads among writes. Nothing is
/// found again in the L2. Prints as kernels.cu does; run.py measures and predicts.
///
///   traffic [--repeat N] [name...]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 kBytes = u64{512} << 20;
constexpr u32 kThreads = 256;
constexpr u32 kMi = 1024 * 1024;
uint4* memory = nullptr;
uint4* result = nullptr;

__device__ __forceinline__ u32 number() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ u32 mixed(u32 x) {
  x ^= x >> 16;
  x *= 0x7FEB352DU;
  x ^= x >> 15;
  x *= 0x846CA68BU;
  return x ^ x >> 16;
}
// Never true, which the compiler does not know.
__device__ __forceinline__ bool is_odd_one(uint4 v) {
  return (v.x ^ v.y ^ v.z ^ v.w) == 0x9E3779B9U;
}

// Neighbouring threads share a piece: 16 bytes each.
__device__ __forceinline__ u32 random_place(u32 threads_per_piece, u32 places) {
  const u32 piece = mixed(number() / threads_per_piece) % (places / threads_per_piece);
  return piece * threads_per_piece + number() % threads_per_piece;
}
__global__ void read_pieces(const uint4* from, uint4* to, u32 threads_per_piece) {
  const uint4 v = from[random_place(threads_per_piece, kBytes / 16)];
  if (is_odd_one(v)) *to = v;
}
__global__ void write_pieces(uint4* to, u32 threads_per_piece) {
  to[random_place(threads_per_piece, kBytes / 16)] = make_uint4(number(), 1, 2, 3);
}
__global__ void copy_pieces(const uint4* from, uint4* to, u32 threads_per_piece) {
  const u32 half = kBytes / 32;
  to[random_place(threads_per_piece, half)] = from[number()];
}
// Down the columns of a matrix: sectors of 32 bytes, one row after the other.
__global__ void read_columns(const uint4* from, uint4* to, u32 row_bytes) {
  const u32 rows = kBytes / row_bytes;
  const u32 sector = number() / 2;
  const u64 at = u64{sector % rows} * row_bytes + sector / rows * 64 + number() % 2 * 16;
  const uint4 v = from[at / 16];
  if (is_odd_one(v)) *to = v;
}
__global__ void write_columns(uint4* to, u32 row_bytes) {
  const u32 rows = kBytes / row_bytes;
  const u32 sector = number() / 2;
  const u64 at = u64{sector % rows} * row_bytes + sector / rows * 64 + number() % 2 * 16;
  to[at / 16] = make_uint4(number(), 1, 2, 3);
}
// Long streams: so many read for each one written.
template <int kReads>
__global__ void streams(const uint4* from, uint4* to, u32 n) {
  uint4 sum = from[number()];
#pragma unroll
  for (int i = 1; i < kReads; ++i) {
    const uint4 v = from[u64{number()} + u64{n} * i];
    sum = make_uint4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
  }
  to[number()] = sum;
}

struct Case {
  const char* name;
  void (*launch)();
};
#define CASE(NAME, ...) {#NAME, [] { __VA_ARGS__; }}
constexpr u32 kBlocks = 4 * kMi / kThreads;  // 64 MiB in all

const Case kCases[] = {
    CASE(read_pieces_32, read_pieces<<<kBlocks, kThreads>>>(memory, result, 2)),
    CASE(read_pieces_64, read_pieces<<<kBlocks, kThreads>>>(memory, result, 4)),
    CASE(read_pieces_128, read_pieces<<<kBlocks, kThreads>>>(memory, result, 8)),
    CASE(read_pieces_512, read_pieces<<<kBlocks, kThreads>>>(memory, result, 32)),
    CASE(read_pieces_2K, read_pieces<<<kBlocks, kThreads>>>(memory, result, 128)),
    CASE(read_pieces_16K, read_pieces<<<kBlocks, kThreads>>>(memory, result, 1024)),
    CASE(write_pieces_32, write_pieces<<<kBlocks, kThreads>>>(memory, 2)),
    CASE(write_pieces_64, write_pieces<<<kBlocks, kThreads>>>(memory, 4)),
    CASE(write_pieces_128, write_pieces<<<kBlocks, kThreads>>>(memory, 8)),
    CASE(write_pieces_512, write_pieces<<<kBlocks, kThreads>>>(memory, 32)),
    CASE(write_pieces_2K, write_pieces<<<kBlocks, kThreads>>>(memory, 128)),
    CASE(copy_pieces_64, copy_pieces<<<kBlocks, kThreads>>>(memory + kBytes / 32, memory, 4)),
    CASE(copy_pieces_512, copy_pieces<<<kBlocks, kThreads>>>(memory + kBytes / 32, memory, 32)),
    CASE(read_columns_1K, read_columns<<<kBlocks / 2, kThreads>>>(memory, result, 1 << 10)),
    CASE(read_columns_8K, read_columns<<<kBlocks / 2, kThreads>>>(memory, result, 8 << 10)),
    CASE(read_columns_64K, read_columns<<<kBlocks / 2, kThreads>>>(memory, result, 64 << 10)),
    CASE(read_columns_1M, read_columns<<<kBlocks / 2, kThreads>>>(memory, result, kMi)),
    CASE(read_columns_odd, read_columns<<<kBlocks / 2, kThreads>>>(memory, result, 65 * 1024)),
    CASE(write_columns_8K, write_columns<<<kBlocks / 2, kThreads>>>(memory, 8 << 10)),
    CASE(write_columns_1M, write_columns<<<kBlocks / 2, kThreads>>>(memory, kMi)),
    CASE(streams_1, streams<1><<<kBlocks, kThreads>>>(memory + kBytes / 32, memory, 4 * kMi)),
    CASE(streams_2, streams<2><<<kBlocks, kThreads>>>(memory + kBytes / 32, memory, 4 * kMi)),
    CASE(streams_3, streams<3><<<kBlocks, kThreads>>>(memory + kBytes / 32, memory, 4 * kMi)),
};

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

double launch_us(const Case& kernel, int repeat) {
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&stop));
  kernel.launch();
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
  check(cudaMalloc(&memory, kBytes));
  check(cudaMalloc(&result, 16));
  for (const Case& kernel : kCases) {
    const bool wanted = names.empty() || std::any_of(names.begin(), names.end(), [&](auto* one) {
                          return std::strcmp(one, kernel.name) == 0;
                        });
    if (!wanted) continue;
    std::printf("%-24s %12.2f\n", kernel.name, launch_us(kernel, repeat));
    std::fflush(stdout);
  }
  return 0;
}
