// SPDX-License-Identifier: Apache-2.0
// ncclCommInitAll in main, one thread per GPU with RAII; each thread destroys its own communicator.
#include <cuda_runtime.h>
#include <nccl.h>
#include <cstdio>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

inline void check(cudaError_t e, const char* what) { if (e != cudaSuccess) throw std::runtime_error(what); }
inline void check(ncclResult_t e, const char* what) { if (e != ncclSuccess) throw std::runtime_error(what); }
#define TRY(x) check((x), #x)

struct Buffer {
  explicit Buffer(size_t bytes) { TRY(cudaMalloc(&p, bytes)); }
  Buffer(Buffer&& o) noexcept : p(std::exchange(o.p, nullptr)) {}
  ~Buffer() { if (p) cudaFree(p); }
  template <class T> T* as() { return static_cast<T*>(p); }
  void* p = nullptr;
};

struct Device {
  int id, count;
  ncclComm_t comm;
  cudaStream_t stream{};
  std::vector<Buffer> arena;
  Device(int id, int count, ncclComm_t c) : id(id), count(count), comm(c) { TRY(cudaSetDevice(id)); TRY(cudaStreamCreate(&stream)); }
  ~Device() { cudaStreamDestroy(stream); ncclCommDestroy(comm); }
  template <class T> T* alloc(size_t n) { return arena.emplace_back(n * sizeof(T)).template as<T>(); }
};

__global__ void init(int* a, int n, int d) { for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = i * (d + 1); }
__global__ void fold(const int* a, long long* out, int n) {
  __shared__ long long part[128];
  long long s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += a[i];
  part[threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.x == 0) { long long t = 0; for (int k = 0; k < 128; ++k) t += part[k]; *out += t; }
}

int main() {
  int gpus;
  TRY(cudaGetDeviceCount(&gpus));
  std::vector<ncclComm_t> comms(gpus);
  TRY(ncclCommInitAll(comms.data(), gpus, nullptr));
  std::vector<long long> results(gpus);
  std::mutex print;
  auto body = [&](int id) {
    try {
      Device dev(id, gpus, comms[id]);
      const int n = 777;
      int* a = dev.alloc<int>(n);
      int* b = dev.alloc<int>(n);
      long long* out = dev.alloc<long long>(1);
      TRY(cudaMemsetAsync(out, 0, sizeof(long long), dev.stream));
      for (int it = 0; it < 3; ++it) {
        init<<<1, 128, 0, dev.stream>>>(a, n, id + it);
        TRY(ncclAllReduce(a, b, n, ncclInt32, ncclSum, comms[id], dev.stream));
        fold<<<1, 128, 0, dev.stream>>>(b, out, n);
      }
      TRY(cudaMemcpyAsync(&results[id], out, sizeof(long long), cudaMemcpyDeviceToHost, dev.stream));
      TRY(cudaStreamSynchronize(dev.stream));
      std::lock_guard<std::mutex> lock(print);
      std::printf("gpu %d: %lld\n", id, results[id]);
    } catch (const std::exception& e) { std::fprintf(stderr, "%s\n", e.what()); std::exit(1); }
  };
  std::vector<std::thread> pool;
  for (int id = 0; id < gpus; ++id) pool.emplace_back(std::ref(body), id);
  for (auto& t : pool) t.join();
  bool same = true;
  for (long long r : results) same = same && r == results[0];
  std::puts(same ? "PASS" : "FAIL");
  return !same;
}
