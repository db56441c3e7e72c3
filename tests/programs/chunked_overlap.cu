// SPDX-License-Identifier: Apache-2.0
// Somebody has overlapped by hand: the array is cut into chunks, each is produced on one stream and
// all-gathered on another one, with one event per chunk. The chunks of a rank are not contiguous in
// the result.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

constexpr int kChunks = 4;

__global__ void heavy(float* out, int n, int first, int rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = static_cast<float>(first + i) * 0.001f + static_cast<float>(rank);
  for (int k = 0; k < 64; ++k) x = x * 0.99f + 0.01f;
  out[i] = x;
}

__global__ void order(const float* chunks, float* out, int chunk, int ranks) {
  // chunks: [chunk index][rank][element]; out: [rank][chunk index][element]
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= chunk * ranks * kChunks) return;
  const int element = i % chunk, c = i / chunk % kChunks, rank = i / chunk / kChunks;
  out[i] = chunks[(c * ranks + rank) * chunk + element];
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

  const int chunk = 1024, total = chunk * kChunks * ranks;
  float *mine, *gathered, *out;
  cudaMalloc(&mine, sizeof(float) * chunk * kChunks);
  cudaMalloc(&gathered, sizeof(float) * total);
  cudaMalloc(&out, sizeof(float) * total);
  cudaStream_t compute, network;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&network, cudaStreamNonBlocking);
  std::vector<cudaEvent_t> produced(kChunks);
  for (auto& event : produced) cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaEvent_t gathered_all, start, stop;
  cudaEventCreateWithFlags(&gathered_all, cudaEventDisableTiming);
  cudaEventCreate(&start);
  cudaEventCreate(&stop);

  const int warmup = 2, timed = 4;
  for (int i = 0; i < warmup + timed; ++i) {
    if (i == warmup) cudaEventRecord(start, compute);
    for (int c = 0; c < kChunks; ++c) {
      heavy<<<chunk / 128, 128, 0, compute>>>(mine + c * chunk, chunk, c * chunk, rank);
      cudaEventRecord(produced[c], compute);
      cudaStreamWaitEvent(network, produced[c], 0);
      ncclAllGather(mine + c * chunk, gathered + c * chunk * ranks, chunk, ncclFloat, comm, network);
    }
    cudaEventRecord(gathered_all, network);
    cudaStreamWaitEvent(compute, gathered_all, 0);
    order<<<total / 128, 128, 0, compute>>>(gathered, out, chunk, ranks);
  }
  cudaEventRecord(stop, compute);
  std::vector<float> host(total);
  cudaMemcpyAsync(host.data(), out, sizeof(float) * total, cudaMemcpyDeviceToHost, compute);
  cudaStreamSynchronize(compute);
  float ms;
  cudaEventElapsedTime(&ms, start, stop);

  int wrong = 0;
  for (int i = 0; i < total; ++i) {
    float x = static_cast<float>(i % (chunk * kChunks)) * 0.001f + static_cast<float>(i / (chunk * kChunks));
    for (int k = 0; k < 64; ++k) x = x * 0.99f + 0.01f;
    wrong += std::fabs(host[i] - x) > 1e-3f;
  }
  std::printf("rank %d: %s (%.1f us)\n", rank, wrong ? "FAIL" : "PASS", 1e3f * ms / timed);
  for (float* memory : {mine, gathered, out}) cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
