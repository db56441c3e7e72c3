// SPDX-License-Identifier: Apache-2.0
// Sizes and places that nobody likes: buffers that begin anywhere, counts that nothing divides, no
// bytes at all, messages of another length for every pair. The communicator does not block, and
// everything gives itself back.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <vector>

#define CUDA(call)                                                                     \
  do {                                                                                 \
    if (const cudaError_t error = (call); error != cudaSuccess) {                      \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                    \
    }                                                                                  \
  } while (0)
#define NCCL(call)                                                                     \
  do {                                                                                 \
    const ncclResult_t result = (call);                                                \
    if (result != ncclSuccess && result != ncclInProgress) {                           \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, ncclGetErrorString(result)); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                    \
    }                                                                                  \
  } while (0)

static void wait_for(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) NCCL(ncclCommGetAsyncError(comm, &state));
  NCCL(state);
}

struct Closing {
  void operator()(ncclComm_t comm) const {
    NCCL(ncclCommFinalize(comm));
    wait_for(comm);
    NCCL(ncclCommDestroy(comm));
  }
};
using Comm = std::unique_ptr<std::remove_pointer_t<ncclComm_t>, Closing>;

template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t count) {
    CUDA(cudaMalloc(&data_, count * sizeof(T)));
    CUDA(cudaMemset(data_, 0, count * sizeof(T)));
    CUDA(cudaDeviceSynchronize());  // a fill does not wait, nor does a stream that does not block
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  T* operator+(size_t at) const { return data_ + at; }
  std::vector<T> from(size_t at, size_t count) const {
    std::vector<T> host(count);
    CUDA(cudaMemcpy(host.data(), data_ + at, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  T* data_ = nullptr;
};

__host__ __device__ inline float value(int i, int rank) { return i % 97 - 40 + rank; }
__host__ __device__ inline unsigned char byte(int i, int rank) { return i * 7 + rank * 13; }

__global__ void fill(unsigned char* bytes, __half* halves, int n, float* floats, int all, int rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bytes[i] = byte(i, rank);
  if (i < n) halves[i] = __float2half(i % 50 * 0.25f + rank);
  if (i < all) floats[i] = value(i, rank);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CUDA(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) NCCL(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t made = nullptr;
  NCCL(ncclCommInitRankConfig(&made, ranks, id, rank, &config));
  wait_for(made);
  int wrong = 0;
  {
    const Comm comm(made);
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    constexpr int kCount = 1013, kApart = 60;
    const int all = kCount * ranks;
    const Buffer<unsigned char> bytes(kCount + 16), gathered(all + 16);
    const Buffer<__half> halves(kCount + 3), means(kCount + 3);
    const Buffer<float> floats(all + 5), least(kCount + 5), messages(ranks * kApart);
    const auto length = [](int from, int to) { return (from * 31 + to * 17) % 50; };
    for (int round = 0; round < 3; ++round) {
      fill<<<(all + 127) / 128, 128, 0, stream>>>(bytes + 3, halves + 1, kCount, floats + 1, all,
                                                  rank + round);
      NCCL(ncclAllGather(bytes + 3, gathered + 1, kCount, ncclUint8, comm.get(), stream));
      wait_for(comm.get());
      NCCL(ncclAllReduce(halves + 1, means + 1, kCount, ncclFloat16, ncclAvg, comm.get(), stream));
      wait_for(comm.get());
      NCCL(ncclAllReduce(means + 1, means + 1, kCount - 5, ncclFloat16, ncclMax, comm.get(), stream));
      wait_for(comm.get());
      NCCL(ncclReduceScatter(floats + 1, least + 2, kCount, ncclFloat32, ncclMin, comm.get(), stream));
      wait_for(comm.get());
      NCCL(ncclBroadcast(floats + 1, floats + 1, 0, ncclFloat32, 0, comm.get(), stream));
      wait_for(comm.get());
      NCCL(ncclGroupStart());
      for (int peer = 0; peer < ranks; ++peer) {
        if (peer == rank) continue;
        NCCL(ncclSend(floats + (1 + peer), length(rank, peer), ncclFloat32, peer, comm.get(), stream));
        NCCL(ncclRecv(messages + peer * kApart, length(peer, rank), ncclFloat32, peer, comm.get(),
                      stream));
      }
      NCCL(ncclGroupEnd());
      wait_for(comm.get());
      CUDA(cudaStreamSynchronize(stream));

      const auto got = gathered.from(1, all);
      for (int i = 0; i < all; ++i) wrong += got[i] != byte(i % kCount, i / kCount + round);
      const auto mean = means.from(1, kCount);
      for (int i = 0; i < kCount; ++i) {
        const float expected = i % 50 * 0.25f + round + (ranks - 1) / 2.0f;
        wrong += std::abs(__half2float(mean[i]) - expected) > 0.02f;
      }
      const auto smallest = least.from(2, kCount);
      for (int i = 0; i < kCount; ++i) wrong += smallest[i] != value(rank * kCount + i, round);
      for (int peer = 0; peer < ranks; ++peer) {
        if (peer == rank) continue;
        const auto message = messages.from(peer * kApart, length(peer, rank));
        for (size_t i = 0; i < message.size(); ++i)
          wrong += message[i] != value(rank + static_cast<int>(i), peer + round);
      }
    }
    CUDA(cudaStreamDestroy(stream));
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d wrong\n%s\n", wrong, wrong == 0 ? "PASS" : "FAIL");
  MPI_Finalize();
  return wrong != 0;
}
