// Ranks as threads; a ring with two buffers that change places; host and device memory in a struct;
// a kernel that takes a struct of pointers; sends and receives in a group.
#include <cuda_runtime.h>
#include <nccl.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

struct Tile {
  const float* in;
  float* out;
  int n;
};

__device__ float step_of(float x) { return x * 0.5f; }

__global__ void advance(Tile tile) {
  for (int i = threadIdx.x; i < tile.n; i += blockDim.x) tile.out[i] += step_of(tile.in[i]);
}

struct Rank {
  int rank, ranks;
  ncclComm_t comm;
  cudaStream_t stream;
  float* block[2];
  float* sum;
};

static float* make(size_t n) {
  float* memory = nullptr;
  cudaMalloc(&memory, n * sizeof(float));
  return memory;
}

static void exchange(Rank& r, const float* from, float* to, size_t n) {
  const int next = (r.rank + 1) % r.ranks;
  const int previous = (r.rank + r.ranks - 1) % r.ranks;
  ncclGroupStart();
  ncclSend(from, n, ncclFloat, next, r.comm, r.stream);
  ncclRecv(to, n, ncclFloat, previous, r.comm, r.stream);
  ncclGroupEnd();
}

static void work(Rank* r, size_t n) {
  cudaSetDevice(r->rank);
  cudaStreamCreate(&r->stream);
  for (float*& block : r->block) block = make(n);
  r->sum = make(n);
  float* current = r->block[0];
  float* other = r->block[1];
  const auto begin = std::chrono::steady_clock::now();
  for (int step = 0; step < r->ranks; ++step) {
    advance<<<1, 256, 0, r->stream>>>(Tile{current, r->sum, (int)n});
    exchange(*r, current, other, n);
    std::swap(current, other);
  }
  cudaStreamSynchronize(r->stream);
  const auto end = std::chrono::steady_clock::now();
  (void)(end - begin);
  for (float* block : r->block) cudaFree(block);
  cudaFree(r->sum);
}

int main() {
  constexpr int kRanks = 2;
  ncclComm_t comms[kRanks];
  ncclCommInitAll(comms, kRanks, nullptr);
  std::vector<Rank> ranks(kRanks);
  std::vector<std::thread> threads;
  for (int i = 0; i < kRanks; ++i) {
    ranks[i].rank = i;
    ranks[i].ranks = kRanks;
    ranks[i].comm = comms[i];
    threads.emplace_back(work, &ranks[i], 1024);
  }
  for (auto& thread : threads) thread.join();
  for (ncclComm_t comm : comms) ncclCommDestroy(comm);
  return 0;
}
