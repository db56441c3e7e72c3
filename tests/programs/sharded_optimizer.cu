// SPDX-License-Identifier: Apache-2.0
// ZeRO: reduce-scatter of the gradients, each rank updates its shard of the weights, and an in-place
// all-gather hands the new weights to everybody. The trainer is a class with members.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

__global__ void gradients(const float* weights, float* gradient, int n, int rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) gradient[i] = weights[i] - static_cast<float>(rank + i % 5);
}

__global__ void momentum_step(float* shard, float* momentum, const float* gradient, int n, float rate, float inverse) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float m = 0.5f * momentum[i] + gradient[i] * inverse;
  momentum[i] = m;
  shard[i] -= rate * m;
}

class Trainer {
 public:
  Trainer(int rank, int ranks, ncclComm_t comm, int shard) : rank_(rank), ranks_(ranks), shard_(shard), comm_(comm) {
    const size_t bytes = sizeof(float) * shard_ * ranks_;
    cudaStreamCreate(&stream_);
    cudaMalloc(&weights_, bytes);
    cudaMalloc(&gradient_, bytes);
    cudaMalloc(&mine_, sizeof(float) * shard_);
    cudaMalloc(&momentum_, sizeof(float) * shard_);
    cudaMemsetAsync(weights_, 0, bytes, stream_);
    cudaMemsetAsync(momentum_, 0, sizeof(float) * shard_, stream_);
  }
  ~Trainer() {
    for (float* memory : {weights_, gradient_, mine_, momentum_}) cudaFree(memory);
    cudaStreamDestroy(stream_);
  }
  void step(float rate);
  std::vector<float> weights() const;

 private:
  int blocks(int n) const { return (n + 255) / 256; }
  int rank_, ranks_, shard_;
  ncclComm_t comm_;
  cudaStream_t stream_ = nullptr;
  float *weights_ = nullptr, *gradient_ = nullptr, *mine_ = nullptr, *momentum_ = nullptr;
};

void Trainer::step(float rate) {
  const int n = shard_ * ranks_;
  float* my_weights = weights_ + rank_ * shard_;
  gradients<<<blocks(n), 256, 0, stream_>>>(weights_, gradient_, n, rank_);
  ncclReduceScatter(gradient_, mine_, shard_, ncclFloat, ncclSum, comm_, stream_);
  momentum_step<<<blocks(shard_), 256, 0, stream_>>>(my_weights, momentum_, mine_, shard_, rate, 1.0f / ranks_);
  ncclAllGather(my_weights, weights_, shard_, ncclFloat, comm_, stream_);
}

std::vector<float> Trainer::weights() const {
  std::vector<float> host(static_cast<size_t>(shard_) * ranks_);
  cudaMemcpyAsync(host.data(), weights_, host.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_);
  cudaStreamSynchronize(stream_);
  return host;
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
  int wrong = 0;
  {
    Trainer trainer(rank, ranks, comm, 1000);
    for (int i = 0; i < 5; ++i) trainer.step(0.25f);
    const std::vector<float> weights = trainer.weights();
    for (size_t i = 0; i < weights.size(); ++i) {
      const float target = (ranks - 1) / 2.0f + i % 5;
      float w = 0, m = 0;
      for (int step = 0; step < 5; ++step) {
        m = 0.5f * m + (w - target);
        w -= 0.25f * m;
      }
      wrong += std::fabs(weights[i] - w) > 1e-3f;
    }
  }
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
