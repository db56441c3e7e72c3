// SPDX-License-Identifier: Apache-2.0
// Lanes of a warp that come to the same .sync operation, with the same mask, in different branches.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                               \
  do {                                                            \
    const cudaError_t status = (call);                            \
    if (status != cudaSuccess) {                                  \
      std::printf("%s: %s\n", #call, cudaGetErrorString(status)); \
      std::exit(1);                                               \
    }                                                             \
  } while (0)

constexpr unsigned kAll = 0xFFFFFFFFu;

__device__ unsigned shuffle(unsigned value, unsigned from) {
  unsigned result;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;"
               : "=r"(result)
               : "r"(value), "r"(from));
  return result;
}

__device__ unsigned vote_ballot(bool value) {
  unsigned result;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
               : "=r"(result)
               : "r"(static_cast<unsigned>(value)));
  return result;
}

__device__ unsigned sum(unsigned value) {
  unsigned result;
  asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value));
  return result;
}

__device__ unsigned match(unsigned value) {
  unsigned result;
  asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value));
  return result;
}

__global__ void meet(unsigned* out, volatile unsigned* flag) {
  const unsigned lane = threadIdx.x;
  unsigned shuffled, voted, summed, matched;
  // The branches do different work first, so that no compiler makes one of them.
  if (lane % 3 == 0) {
    const unsigned value = lane * 7 + *flag;
    shuffled = shuffle(value, 31 - lane);
    voted = vote_ballot(lane % 2 == 0);
    summed = sum(value);
    matched = match(lane % 4) ^ *flag;
    __syncwarp(kAll);
  } else {
    const unsigned value = (lane + 100) * (3 + *flag);
    *flag = 0;
    shuffled = shuffle(value, (lane + 1) % 32);
    voted = vote_ballot(lane % 5 == 0) + *flag;
    summed = sum(value) + *flag;
    matched = match(lane % 4);
    __syncwarp(kAll);
  }
  out[4 * lane] = shuffled;
  out[4 * lane + 1] = voted;
  out[4 * lane + 2] = summed;
  out[4 * lane + 3] = matched;
}

int main() {
  unsigned* out = nullptr;
  unsigned* flag = nullptr;
  CHECK(cudaMalloc(&out, 128 * sizeof *out));
  CHECK(cudaMalloc(&flag, sizeof *flag));
  CHECK(cudaMemset(flag, 0, sizeof *flag));
  meet<<<1, 32>>>(out, flag);
  CHECK(cudaGetLastError());
  std::vector<unsigned> got(128);
  CHECK(cudaMemcpy(got.data(), out, 128 * sizeof *out, cudaMemcpyDeviceToHost));
  const auto value = [](unsigned l) { return l % 3 == 0 ? l * 7 : (l + 100) * 3; };
  unsigned votes = 0, total = 0;
  for (unsigned l = 0; l < 32; ++l) {
    if (l % 3 == 0 ? l % 2 == 0 : l % 5 == 0) votes |= 1u << l;
    total += value(l);
  }
  int wrong = 0;
  for (unsigned l = 0; l < 32; ++l) {
    const unsigned from = l % 3 == 0 ? 31 - l : (l + 1) % 32;
    wrong += got[4 * l] != value(from);
    wrong += got[4 * l + 1] != votes;
    wrong += got[4 * l + 2] != total;
    wrong += got[4 * l + 3] != 0x11111111u << (l % 4);
  }
  std::printf("%d wrong of 128\n", wrong);
  return wrong != 0;
}
