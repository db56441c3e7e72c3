// SPDX-License-Identifier: Apache-2.0
// One host thread drives all GPUs: launches in a loop over devices, then the all-reduce of all of
// them in one group. In place.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <vector>

struct Gpu {
  int device;
  cudaStream_t stream;
  float* values;
  float* scaled;
};

__global__ void partial(float* values, int n, int device) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = static_cast<float>(i % 13) * static_cast<float>(device + 1);
}

__global__ void scale(const float* values, float* scaled, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) scaled[i] = values[i] * 0.125f;
}

int main() {
  const int n = 5000;
  int count = 0;
  cudaGetDeviceCount(&count);
  std::vector<Gpu> gpus(count);
  std::vector<ncclComm_t> comms(count);
  for (int d = 0; d < count; ++d) {
    Gpu& gpu = gpus[d];
    gpu.device = d;
    cudaSetDevice(d);
    cudaStreamCreate(&gpu.stream);
    cudaMalloc(&gpu.values, n * sizeof(float));
    cudaMalloc(&gpu.scaled, n * sizeof(float));
  }
  ncclCommInitAll(comms.data(), count, nullptr);

  for (int iteration = 0; iteration < 4; ++iteration) {
    for (auto& gpu : gpus) {
      cudaSetDevice(gpu.device);
      partial<<<(n + 255) / 256, 256, 0, gpu.stream>>>(gpu.values, n, gpu.device);
    }
    ncclGroupStart();
    for (auto& gpu : gpus)
      ncclAllReduce(gpu.values, gpu.values, n, ncclFloat, ncclSum, comms[gpu.device], gpu.stream);
    ncclGroupEnd();
    for (auto& gpu : gpus) {
      cudaSetDevice(gpu.device);
      scale<<<(n + 255) / 256, 256, 0, gpu.stream>>>(gpu.values, gpu.scaled, n);
    }
  }

  const int ranks = count * (count + 1) / 2;
  int wrong = 0;
  for (auto& gpu : gpus) {
    std::vector<float> host(n);
    cudaSetDevice(gpu.device);
    cudaMemcpyAsync(host.data(), gpu.scaled, n * sizeof(float), cudaMemcpyDeviceToHost, gpu.stream);
    cudaStreamSynchronize(gpu.stream);
    cudaFree(gpu.values);
    cudaFree(gpu.scaled);
    for (int i = 0; i < n; ++i) wrong += host[i] != static_cast<float>(i % 13 * ranks) * 0.125f;
  }
  for (auto comm : comms) ncclCommDestroy(comm);
  std::printf("%s\n", wrong ? "FAIL" : "PASS");
  return wrong != 0;
}
