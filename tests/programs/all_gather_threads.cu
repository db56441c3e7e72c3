// SPDX-License-Identifier: Apache-2.0
// One thread per GPU in one process. The all-gather is not in place: it reads one buffer and writes
// another one. Classes own the stream, the buffers and the communicator.
#include <cuda_runtime.h>
#include <nccl.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

class Stream {
 public:
  Stream() { cudaStreamCreate(&stream_); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void wait() const { cudaStreamSynchronize(stream_); }

 private:
  cudaStream_t stream_{};
};

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t size) : size_(size) { cudaMalloc(&data_, size * sizeof(T)); }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  T* get() { return data_; }
  size_t size() const { return size_; }
  std::vector<T> on_host() const {
    std::vector<T> copy(size_);
    cudaMemcpy(copy.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost);
    return copy;
  }

 private:
  T* data_ = nullptr;
  size_t size_;
};

__global__ void features(float* mine, int n, int rank) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    mine[i] = static_cast<float>(rank + 1) / static_cast<float>(i + 1);
}

__global__ void sum_over_ranks(const float* all, float* sums, int n, int ranks) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float sum = 0;
    for (int r = 0; r < ranks; ++r) sum += all[r * n + i];
    sums[i] = sum;
  }
}

class Worker {
 public:
  Worker(int rank, int ranks, ncclComm_t comm, int n)
      : rank_(rank), ranks_(ranks), comm_(comm), mine_(n), all_(static_cast<size_t>(n) * ranks), sums_(n) {}

  void step() {
    features<<<8, 128, 0, stream_>>>(mine_.get(), static_cast<int>(mine_.size()), rank_);
    ncclAllGather(mine_.get(), all_.get(), mine_.size(), ncclFloat, comm_, stream_);
    sum_over_ranks<<<8, 128, 0, stream_>>>(all_.get(), sums_.get(), static_cast<int>(mine_.size()), ranks_);
  }

  bool right() {
    stream_.wait();
    const std::vector<float> sums = sums_.on_host();
    for (size_t i = 0; i < sums.size(); ++i) {
      float expected = 0;
      for (int r = 0; r < ranks_; ++r) expected += static_cast<float>(r + 1) / static_cast<float>(i + 1);
      if (sums[i] < 0.9999f * expected || sums[i] > 1.0001f * expected) return false;
    }
    return true;
  }

 private:
  int rank_, ranks_;
  ncclComm_t comm_;
  Stream stream_;
  DeviceArray<float> mine_, all_, sums_;
};

int main() {
  int gpus = 0;
  cudaGetDeviceCount(&gpus);
  std::vector<ncclComm_t> comms(gpus);
  ncclCommInitAll(comms.data(), gpus, nullptr);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < gpus; ++rank) {
    threads.emplace_back([&, rank] {
      cudaSetDevice(rank);
      Worker worker(rank, gpus, comms[rank], 3000);
      for (int i = 0; i < 5; ++i) worker.step();
      if (!worker.right()) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (ncclComm_t comm : comms) ncclCommDestroy(comm);
  std::printf("%s\n", wrong ? "FAIL" : "PASS");
  return wrong != 0;
}
