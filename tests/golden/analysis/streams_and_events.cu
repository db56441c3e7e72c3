// Two streams, events between them, a copy and a fill, timing by events, RAII and a range-for.
#include <cuda_runtime.h>
#include <nccl.h>

#include <vector>

#define CHECK(call)              \
  do {                           \
    if ((call) != 0) return 1;   \
  } while (0)

template <typename T>
struct DeviceArray {
  T* data = nullptr;
  explicit DeviceArray(size_t count) { cudaMalloc(&data, count * sizeof(T)); }
  ~DeviceArray() { cudaFree(data); }
  T* get() const { return data; }
};

template <typename T>
__global__ void scale(T* x, const T* by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by[i];
}

__global__ void other_work(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += 1;
}

int main() {
  const int n = 1 << 20;
  ncclComm_t world, half;
  ncclUniqueId id;
  CHECK(ncclGetUniqueId(&id));
  CHECK(ncclCommInitRank(&world, 2, id, 0));
  CHECK(ncclCommSplit(world, 0, 0, &half, nullptr));
  std::vector<cudaStream_t> streams(2);
  for (auto& stream : streams) CHECK(cudaStreamCreate(&stream));
  cudaEvent_t ready, start, stop;
  for (cudaEvent_t* event : {&ready, &start, &stop}) CHECK(cudaEventCreate(event));
  DeviceArray<float> x(n), factors(n), sums(n), rest(n);
  std::vector<float> host(n, 1.0f);
  CHECK(cudaMemcpy(factors.get(), host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemsetAsync(x.get(), 0, n * sizeof(float), streams[0]));
  CHECK(cudaEventRecord(start, streams[0]));
  for (int step = 0; step < 10; ++step) {
    const auto produce = [&](float* out) {
      scale<float><<<n / 256, 256, 0, streams[0]>>>(out, factors.get(), n);
    };
    produce(x.get());
    CHECK(cudaEventRecord(ready, streams[0]));
    CHECK(cudaStreamWaitEvent(streams[1], ready, 0));
    CHECK(ncclAllReduce(x.get(), sums.get(), n, ncclFloat, ncclSum, half, streams[1]));
    other_work<<<1, 256, 0, streams[0]>>>(rest.get(), n);
  }
  CHECK(cudaEventRecord(stop, streams[0]));
  CHECK(cudaEventSynchronize(stop));
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  CHECK(cudaMemcpy(host.data(), sums.get(), n * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(ncclCommDestroy(half));
  return ms > 0 ? 0 : 1;
}
