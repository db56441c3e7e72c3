// SPDX-License-Identifier: Apache-2.0
// Sums over all GPUs in three types, and a count. ORDER 0: NCCL adds; 1: every GPU gathers and adds
// from the last rank to the first. MISTAKE 0: none; 1: a rank is left out; 2: an element is wrong;
// 3: the count is.
#include <cstdio>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <nccl.h>

#ifndef ORDER
#define ORDER 0
#endif
#ifndef MISTAKE
#define MISTAKE 0
#endif

constexpr int kCount = 4096;
constexpr int kMost = 8;

template <typename T>
__global__ void fill(T* out, int rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = static_cast<T>(__sinf(0.37f * i + 1.7f * rank) + 0.1f * rank);
}

template <typename T>
__global__ void add_up(T* out, const T* parts, int ranks) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int rank = ranks - 1; rank >= (MISTAKE == 1 ? 1 : 0); --rank)
    sum += static_cast<float>(parts[rank * kCount + i]);
  if (MISTAKE == 2 && i == 1234) sum += 0.5f;
  out[i] = static_cast<T>(sum);
}

template <typename T>
__global__ void count_positive(unsigned* count, const T* values) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (static_cast<float>(values[i]) > 0) atomicAdd(count, 1u);
  if (MISTAKE == 3 && i == 0) atomicAdd(count, 1u);
}

struct Gpu {
  ncclComm_t comm;
  cudaStream_t stream;
};

template <typename T>
void reduce(std::vector<Gpu>& gpus, ncclDataType_t type, const char* name) {
  const int ranks = static_cast<int>(gpus.size());
  T* in[kMost];
  T* out[kMost];
  T* parts[kMost];
  unsigned* count = nullptr;
  for (int r = 0; r < ranks; ++r) {
    cudaSetDevice(r);
    cudaMalloc(&in[r], kCount * sizeof(T));
    cudaMalloc(&out[r], kCount * sizeof(T));
    cudaMalloc(&parts[r], ranks * kCount * sizeof(T));
    fill<<<kCount / 256, 256, 0, gpus[r].stream>>>(in[r], r);
  }
  ncclGroupStart();
  for (int r = 0; r < ranks; ++r) {
    if (ORDER == 0) {
      ncclAllReduce(in[r], out[r], kCount, type, ncclSum, gpus[r].comm, gpus[r].stream);
    } else {
      ncclAllGather(in[r], parts[r], kCount, type, gpus[r].comm, gpus[r].stream);
    }
  }
  ncclGroupEnd();
  std::vector<T> host(kCount);
  double sum = 0;
  for (int r = 0; r < ranks; ++r) {
    cudaSetDevice(r);
    if (ORDER != 0)
      add_up<<<kCount / 256, 256, 0, gpus[r].stream>>>(out[r], parts[r], ranks);
    cudaMemcpyAsync(host.data(), out[r], kCount * sizeof(T), cudaMemcpyDeviceToHost, gpus[r].stream);
    cudaStreamSynchronize(gpus[r].stream);
    for (const T value : host)
      sum += static_cast<float>(value);
  }
  cudaSetDevice(0);
  cudaMalloc(&count, sizeof *count);
  cudaMemset(count, 0, sizeof *count);
  count_positive<<<kCount / 256, 256>>>(count, in[0]);
  unsigned positive = 0;
  cudaMemcpy(&positive, count, sizeof positive, cudaMemcpyDeviceToHost);
  std::printf("%s: %.9g\n", name, sum / ranks / kCount);
}

int main() {
  int ranks = 0;
  cudaGetDeviceCount(&ranks);
  std::vector<Gpu> gpus(ranks);
  ncclComm_t comms[kMost];
  ncclCommInitAll(comms, ranks, nullptr);
  for (int r = 0; r < ranks; ++r) {
    cudaSetDevice(r);
    cudaStreamCreate(&gpus[r].stream);
    gpus[r].comm = comms[r];
  }
  reduce<float>(gpus, ncclFloat32, "fp32");
  reduce<__nv_bfloat16>(gpus, ncclBfloat16, "bf16");
  reduce<__half>(gpus, ncclFloat16, "fp16");
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
