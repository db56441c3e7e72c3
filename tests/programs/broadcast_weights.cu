// SPDX-License-Identifier: Apache-2.0
// Rank 0 draws the parameters of each round and broadcasts them; all ranks evaluate them on their
// own samples. The flow is one way: only rank 0 sends.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

__global__ void draw(float* parameters, int n, unsigned round) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = (i + 1) * 2654435761u + round * 40503u;
  x ^= x >> 13;
  parameters[i] = static_cast<float>(x % 1000) * 0.001f;
}

__global__ void evaluate(const float* parameters, const float* samples, float* scores, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) scores[i] = scores[i] * 0.5f + parameters[i] * samples[i];
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

  constexpr int n = 3072, rounds = 6, root = 0;
  std::vector<float> samples(n), scores(n);
  for (int i = 0; i < n; ++i) samples[i] = static_cast<float>((i * 7 + rank) % 11) - 5.0f;
  float *d_parameters, *d_samples, *d_scores;
  cudaMalloc(&d_parameters, n * sizeof(float));
  cudaMalloc(&d_samples, n * sizeof(float));
  cudaMalloc(&d_scores, n * sizeof(float));
  cudaMemcpyAsync(d_samples, samples.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream);
  cudaMemsetAsync(d_scores, 0, n * sizeof(float), stream);

  for (unsigned round = 0; round < rounds; ++round) {
    if (rank == root) draw<<<n / 256, 256, 0, stream>>>(d_parameters, n, round);
    ncclBroadcast(d_parameters, d_parameters, n, ncclFloat, root, comm, stream);
    evaluate<<<n / 256, 256, 0, stream>>>(d_parameters, d_samples, d_scores, n);
  }
  cudaMemcpyAsync(scores.data(), d_scores, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);

  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    float expected = 0;
    for (unsigned round = 0; round < rounds; ++round) {
      unsigned x = (i + 1) * 2654435761u + round * 40503u;
      x ^= x >> 13;
      expected = expected * 0.5f + static_cast<float>(x % 1000) * 0.001f * samples[i];
    }
    wrong += std::fabs(scores[i] - expected) > 1e-4f;
  }
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (float* memory : {d_parameters, d_samples, d_scores}) cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
