// SPDX-License-Identifier: Apache-2.0
// The ceiling for kernels that stream: the fastest plain copy of 16-byte vectors on this GPU, timed
// as time_seed times programs (the L2 flushed before each run). `reads` arrays are added into `writes`
// arrays, as many bytes each as given.
//
//   time_copy BYTES READS WRITES
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

template <int Reads, int Writes, int Packs>
__global__ void copy(const uint4* __restrict__ in, uint4* __restrict__ out, size_t n) {
  const size_t first = (size_t)blockIdx.x * blockDim.x * Packs + threadIdx.x;
  uint4 kept[Packs][Reads];
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    const size_t i = first + (size_t)p * blockDim.x;
#pragma unroll
    for (int r = 0; r < Reads; ++r)
      if (i < n) kept[p][r] = __ldg(&in[r * n + i]);
  }
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    const size_t i = first + (size_t)p * blockDim.x;
    uint4 sum = kept[p][0];
#pragma unroll
    for (int r = 1; r < Reads; ++r) {
      sum.x ^= kept[p][r].x, sum.y ^= kept[p][r].y;
      sum.z ^= kept[p][r].z, sum.w ^= kept[p][r].w;
    }
#pragma unroll
    for (int w = 0; w < Writes; ++w)
      if (i < n) out[w * n + i] = sum;
  }
}

float median_us(void (*kernel)(const uint4*, uint4*, size_t), unsigned blocks, unsigned threads,
                const uint4* in, uint4* out, size_t n, void* flush) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = 0; i < 51; ++i) {
    cudaMemsetAsync(flush, i, 256U << 20U, nullptr);
    cudaEventRecord(begin, nullptr);
    kernel<<<blocks, threads>>>(in, out, n);
    cudaEventRecord(end, nullptr);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    times.push_back(ms * 1000);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

template <int Reads, int Writes, int Packs>
void best_of(float& best, const uint4* in, uint4* out, size_t n, void* flush) {
  for (const unsigned threads : {128U, 256U, 512U, 1024U}) {
    const size_t each = (size_t)threads * Packs;
    best = std::min(best, median_us(copy<Reads, Writes, Packs>, (unsigned)((n + each - 1) / each),
                                    threads, in, out, n, flush));
  }
}

template <int Reads, int Writes>
void measure(size_t bytes) {
  uint4 *in = nullptr, *out = nullptr;
  void* flush = nullptr;
  cudaMalloc(&in, bytes * Reads);
  cudaMalloc(&out, bytes * Writes);
  cudaMalloc(&flush, 256U << 20U);
  cudaMemset(in, 0x5a, bytes * Reads);
  float best = 1e30F;
  best_of<Reads, Writes, 1>(best, in, out, bytes / 16, flush);
  best_of<Reads, Writes, 2>(best, in, out, bytes / 16, flush);
  best_of<Reads, Writes, 4>(best, in, out, bytes / 16, flush);
  std::printf("copy of %zu bytes, %d read, %d written: %.2f us, %.3f TB/s%s\n", bytes, Reads, Writes,
              best, 1e-6 * (double)bytes * (Reads + Writes) / best,
              cudaGetLastError() == cudaSuccess ? "" : " FAILED");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const size_t bytes = std::strtoull(argv[1], nullptr, 10);
  const int reads = std::atoi(argv[2]), writes = std::atoi(argv[3]);
  if (reads == 1 && writes == 1) {
    measure<1, 1>(bytes);
  } else if (reads == 2 && writes == 1) {
    measure<2, 1>(bytes);
  } else if (reads == 2 && writes == 2) {
    measure<2, 2>(bytes);
  } else {
    return 2;
  }
}
