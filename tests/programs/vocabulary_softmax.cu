// SPDX-License-Identifier: Apache-2.0
// Softmax over a vocabulary that is split over the ranks: an all-reduce of the maxima, then one of
// the sums. Both are small; the kernels between them read the same logits.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

constexpr int kTokens = 24, kVocabulary = 128;

__global__ void row_max(const float* logits, float* maxima) {
  float most = -INFINITY;
  for (int i = threadIdx.x; i < kVocabulary; i += 32) most = fmaxf(most, logits[blockIdx.x * kVocabulary + i]);
  for (int lanes = 16; lanes > 0; lanes /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, lanes));
  if (threadIdx.x == 0) maxima[blockIdx.x] = most;
}

__global__ void row_sum(const float* logits, const float* maxima, float* sums) {
  float sum = 0;
  for (int i = threadIdx.x; i < kVocabulary; i += 32) sum += expf(logits[blockIdx.x * kVocabulary + i] - maxima[blockIdx.x]);
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void probabilities(const float* logits, const float* maxima, const float* sums, float* out) {
  const int token = blockIdx.x, i = threadIdx.x;
  out[token * kVocabulary + i] = expf(logits[token * kVocabulary + i] - maxima[token]) / sums[token];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  cudaStream_t stream;
  cudaStreamCreate(&stream);

  const size_t bytes = sizeof(float) * kTokens * kVocabulary;
  std::vector<float> host(kTokens * kVocabulary);
  auto logit = [](int token, int word) { return static_cast<float>((token * 37 + word * 11) % 23) * 0.3f; };
  for (int t = 0; t < kTokens; ++t)
    for (int i = 0; i < kVocabulary; ++i) host[t * kVocabulary + i] = logit(t, rank * kVocabulary + i);
  float *logits, *out, *statistics;
  cudaMalloc(&logits, bytes);
  cudaMalloc(&out, bytes);
  cudaMalloc(&statistics, 2 * kTokens * sizeof(float));
  float *maxima = statistics, *sums = statistics + kTokens;  // one allocation, two buffers
  cudaMemcpyAsync(logits, host.data(), bytes, cudaMemcpyHostToDevice, stream);
  for (int i = 0; i < 3; ++i) {
    row_max<<<kTokens, 32, 0, stream>>>(logits, maxima);
    ncclAllReduce(maxima, maxima, kTokens, ncclFloat, ncclMax, comm, stream);
    row_sum<<<kTokens, 32, 0, stream>>>(logits, maxima, sums);
    ncclAllReduce(sums, sums, kTokens, ncclFloat, ncclSum, comm, stream);
    probabilities<<<kTokens, kVocabulary, 0, stream>>>(logits, maxima, sums, out);
  }
  std::vector<float> result(host.size());
  cudaMemcpyAsync(result.data(), out, bytes, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  int wrong = 0;
  for (int t = 0; t < kTokens; ++t) {
    double most = -1e30, sum = 0;
    for (int w = 0; w < kVocabulary * ranks; ++w) most = std::fmax(most, logit(t, w));
    for (int w = 0; w < kVocabulary * ranks; ++w) sum += std::exp(logit(t, w) - most);
    for (int i = 0; i < kVocabulary; ++i) {
      const double expected = std::exp(host[t * kVocabulary + i] - most) / sum;
      wrong += std::fabs(result[t * kVocabulary + i] - expected) > 1e-4 * expected + 1e-9;
    }
  }
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (float* memory : {logits, out, statistics}) cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
