// SPDX-License-Identifier: Apache-2.0
// Buffers by name: a map from strings to device memory, an arena that hands out parts of one
// allocation, and an all-gather between two parts of it.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

class Arena {
 public:
  explicit Arena(size_t bytes) { cudaMalloc(&base_, bytes); }
  ~Arena() { cudaFree(base_); }
  template <typename T>
  T* take(const std::string& name, size_t count) {
    T* memory = reinterpret_cast<T*>(base_ + used_);
    used_ += (count * sizeof(T) + 255) / 256 * 256;
    parts_[name] = memory;
    return memory;
  }
  template <typename T>
  T* part(const std::string& name) const {
    return static_cast<T*>(parts_.at(name));
  }

 private:
  char* base_ = nullptr;
  size_t used_ = 0;
  std::map<std::string, void*> parts_;
};

__global__ void local_scores(float* scores, int n, int rank, int step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) scores[i] = static_cast<float>((i * (rank + 3) + step) % 50);
}

__global__ void rank_of_mine(const float* all, const float* mine, int* better, int n, int ranks) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int count = 0;
  for (int r = 0; r < ranks; ++r) count += all[r * n + i] > mine[i];
  better[i] = count;
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
    const int n = 1500, steps = 4;
    Arena arena(1 << 20);
    arena.take<float>("mine", n);
    arena.take<float>("all", static_cast<size_t>(n) * ranks);
    arena.take<int>("better", n);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int step = 0; step < steps; ++step) {
      float* mine = arena.part<float>("mine");
      local_scores<<<(n + 127) / 128, 128, 0, stream>>>(mine, n, rank, step);
      ncclAllGather(mine, arena.part<float>("all"), n, ncclFloat, comm, stream);
      rank_of_mine<<<(n + 127) / 128, 128, 0, stream>>>(arena.part<float>("all"), mine, arena.part<int>("better"), n, ranks);
    }
    std::vector<int> host(n);
    cudaMemcpyAsync(host.data(), arena.part<int>("better"), n * sizeof(int), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (int i = 0; i < n; ++i) {
      auto score = [&](int r) { return (i * (r + 3) + steps - 1) % 50; };
      int better = 0;
      for (int r = 0; r < ranks; ++r) better += score(r) > score(rank);
      wrong += host[i] != better;
    }
    cudaStreamDestroy(stream);
  }
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
