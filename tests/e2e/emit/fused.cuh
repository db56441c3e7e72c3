// SPDX-License-Identifier: Apache-2.0
// Runs producers that send their own tiles, and consumers that may wait for rows, beside the same
// kernels with ncclAllGather in between. Iterations without the host in between, then a graph.
#pragma once

#include "harness.cuh"

__global__ void inputs(float* a, size_t count, int rank, const unsigned* step) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    a[i] = (float)((unsigned)(i * 7 + (i >> 4)) % 5 + (rank + *step) % 3);
  }
}

// A case has: produce(bool emitted, a, part, m, n, stream), gather(…), consume(…).
template <typename C>
int run_fused(Rank& r, const std::vector<size_t>& sizes) {
  if (const char* only = std::getenv("ONLY"); only && !std::strstr(C::kName, only)) return 0;
  C c;
  int bad = 0;
  const size_t n = 40, most = *std::max_element(sizes.begin(), sizes.end());
  const size_t part = most * n, all = part * r.ranks;
  float *a, *result, *other, *out, *want;
  unsigned *step, *wrong;
  OK(c.open(r.comm));
  OK(c.allocate(r.comm, result, all * sizeof(float)));
  OK(cudaMalloc(&a, part * sizeof(float)));
  OK(cudaMalloc(&other, all * sizeof(float)));
  OK(cudaMalloc(&out, all * sizeof(float)));
  OK(cudaMalloc(&want, all * sizeof(float)));
  OK(cudaMalloc(&step, 2 * sizeof(unsigned)));
  OK(cudaMemset(step, 0, 2 * sizeof(unsigned)));
  OK(cudaDeviceSynchronize());
  wrong = step + 1;
  for (const size_t m : sizes) {
    if (m == 0) continue;  // no blocks, no launch
    const auto iteration = [&] {
      inputs<<<2, 64, 0, r.stream>>>(a, m * n, r.rank, step);
      c.produce(true, a, result, m, n, r);
      OK(c.gather(r.stream));
      c.consume(true, result, out, m, n, r);
      c.produce(false, a, other, m, n, r);
      OK(ncclAllGather(other + r.rank * m * n, other, m * n, ncclFloat, r.comm, r.stream));
      c.consume(false, other, want, m, n, r);
      compare<<<4, 64, 0, r.stream>>>(out, want, r.ranks * m * n, wrong);
      advance<<<1, 1, 0, r.stream>>>(step);
    };
    for (int i = 0; i < kDirect; ++i) iteration();
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    OK(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal));
    iteration();
    OK(cudaStreamEndCapture(r.stream, &graph));
    OK(cudaGraphInstantiate(&replay, graph, 0));
    for (int i = 0; i < kReplays; ++i) OK(cudaGraphLaunch(replay, r.stream));
    unsigned count = 0;
    OK(cudaMemcpyAsync(&count, wrong, sizeof count, cudaMemcpyDeviceToHost, r.stream));
    OK(cudaMemsetAsync(wrong, 0, sizeof count, r.stream));
    OK(cudaStreamSynchronize(r.stream));
    OK(cudaGraphExecDestroy(replay));
    OK(cudaGraphDestroy(graph));
    if (count > 0) std::printf("%s: rank %d, %zu rows: %u wrong\n", C::kName, r.rank, m, count);
    bad += count > 0;
  }
  OK(c.close());
  OK(c.release(r.comm));
  for (void* p : {(void*)a, (void*)other, (void*)out, (void*)want, (void*)step}) OK(cudaFree(p));
  if (r.rank == 0) std::printf("%s %s\n", bad > 0 ? "FAIL" : "pass", C::kName);
  return bad;
}

struct Fused {
  template <typename C>
  static int run(Rank& r, const std::vector<size_t>& sizes) {
    return run_fused<C>(r, sizes);
  }
};
