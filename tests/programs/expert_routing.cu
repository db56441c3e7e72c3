// SPDX-License-Identifier: Apache-2.0
// A small mixture of experts: the numbers of tokens for each rank are known on the device only. They
// are all-gathered, read by the host, and decide the counts of the exchange.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

constexpr int kTokens = 96, kWidth = 64;

__device__ __host__ inline int expert_of(int rank, int token, int ranks) { return (token * token + rank * 3) % ranks; }

__global__ void count_tokens(int* counts, int rank, int ranks) {
  if (static_cast<int>(threadIdx.x) >= ranks) return;
  int count = 0;
  for (int t = 0; t < kTokens; ++t) count += expert_of(rank, t, ranks) == static_cast<int>(threadIdx.x);
  counts[threadIdx.x] = count;
}

// One block per expert rank: its tokens, in order, behind those of the ranks before it.
__global__ void dispatch(const float* tokens, float* sorted, int rank, int ranks) {
  const int expert = blockIdx.x;
  int at = 0;
  for (int e = 0; e < expert; ++e)
    for (int t = 0; t < kTokens; ++t) at += expert_of(rank, t, ranks) == e;
  for (int t = 0; t < kTokens; ++t) {
    if (expert_of(rank, t, ranks) != expert) continue;
    sorted[at * kWidth + threadIdx.x] = tokens[t * kWidth + threadIdx.x];
    ++at;
  }
}

__global__ void apply_expert(float* rows, int count, int rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count * kWidth) rows[i] = rows[i] * static_cast<float>(rank + 2);
}

__global__ void combine(const float* sorted, float* out, int rank, int ranks) {
  const int expert = blockIdx.x;
  int at = 0;
  for (int e = 0; e < expert; ++e)
    for (int t = 0; t < kTokens; ++t) at += expert_of(rank, t, ranks) == e;
  for (int t = 0; t < kTokens; ++t) {
    if (expert_of(rank, t, ranks) != expert) continue;
    out[t * kWidth + threadIdx.x] = sorted[at * kWidth + threadIdx.x];
    ++at;
  }
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

  int *my_counts, *all_counts;
  float *tokens, *sorted, *received, *out;
  cudaMalloc(&my_counts, ranks * sizeof(int));
  cudaMalloc(&all_counts, ranks * ranks * sizeof(int));
  cudaMalloc(&tokens, sizeof(float) * kTokens * kWidth);
  cudaMalloc(&sorted, sizeof(float) * kTokens * kWidth);
  cudaMalloc(&received, sizeof(float) * kTokens * kWidth * ranks);
  cudaMalloc(&out, sizeof(float) * kTokens * kWidth);
  std::vector<float> host(kTokens * kWidth);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>((i + rank) % 29);
  cudaMemcpy(tokens, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);

  for (int layer = 0; layer < 2; ++layer) {
    count_tokens<<<1, 32, 0, stream>>>(my_counts, rank, ranks);
    ncclAllGather(my_counts, all_counts, ranks, ncclInt, comm, stream);
    std::vector<int> counts(ranks * ranks);
    cudaMemcpyAsync(counts.data(), all_counts, counts.size() * sizeof(int), cudaMemcpyDeviceToHost, stream);
    dispatch<<<ranks, kWidth, 0, stream>>>(tokens, sorted, rank, ranks);
    cudaStreamSynchronize(stream);
    std::vector<int> send_at(ranks + 1), receive_at(ranks + 1);
    for (int p = 0; p < ranks; ++p) {
      send_at[p + 1] = send_at[p] + counts[rank * ranks + p];
      receive_at[p + 1] = receive_at[p] + counts[p * ranks + rank];
    }
    ncclGroupStart();
    for (int p = 0; p < ranks; ++p) {
      ncclSend(sorted + send_at[p] * kWidth, (send_at[p + 1] - send_at[p]) * kWidth, ncclFloat, p, comm, stream);
      ncclRecv(received + receive_at[p] * kWidth, (receive_at[p + 1] - receive_at[p]) * kWidth, ncclFloat, p, comm, stream);
    }
    ncclGroupEnd();
    apply_expert<<<receive_at[ranks] * kWidth / 128 + 1, 128, 0, stream>>>(received, receive_at[ranks], rank);
    ncclGroupStart();
    for (int p = 0; p < ranks; ++p) {
      ncclSend(received + receive_at[p] * kWidth, (receive_at[p + 1] - receive_at[p]) * kWidth, ncclFloat, p, comm, stream);
      ncclRecv(sorted + send_at[p] * kWidth, (send_at[p + 1] - send_at[p]) * kWidth, ncclFloat, p, comm, stream);
    }
    ncclGroupEnd();
    combine<<<ranks, kWidth, 0, stream>>>(sorted, out, rank, ranks);
    std::swap(tokens, out);
  }
  std::vector<float> result(host.size());
  cudaMemcpyAsync(result.data(), tokens, result.size() * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  int wrong = 0;
  for (int t = 0; t < kTokens; ++t)
    for (int i = 0; i < kWidth; ++i) {
      const float factor = static_cast<float>(expert_of(rank, t, ranks) + 2);
      wrong += std::fabs(result[t * kWidth + i] - host[t * kWidth + i] * factor * factor) > 1e-2f;
    }
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  cudaFree(my_counts);
  cudaFree(all_counts);
  for (float* memory : {tokens, sorted, received, out}) cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
