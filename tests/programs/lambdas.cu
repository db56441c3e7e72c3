// SPDX-License-Identifier: Apache-2.0
// The steps of an iteration are lambdas that capture everything by reference and are kept in a list.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

__global__ void count_up(int* histogram, const int* data, int n, int bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&histogram[data[i] % bins], 1);
}

__global__ void prefix(const int* histogram, int* offsets, int bins) {
  if (threadIdx.x != 0) return;
  int sum = 0;
  for (int b = 0; b < bins; ++b) {
    offsets[b] = sum;
    sum += histogram[b];
  }
}

int main() {
  int gpus;
  cudaGetDeviceCount(&gpus);
  std::vector<ncclComm_t> comms(gpus);
  ncclCommInitAll(comms.data(), gpus, nullptr);
  std::vector<int> wrong(gpus);
  auto work = [&](int rank) {
    const int n = 1024, bins = 64;
    cudaSetDevice(rank);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    int *data, *histogram, *sums, *offsets;
    cudaMalloc(&data, n * sizeof(int));
    cudaMalloc(&histogram, bins * sizeof(int));
    cudaMalloc(&sums, bins * sizeof(int));
    cudaMalloc(&offsets, bins * sizeof(int));
    std::vector<int> host(n);
    for (int i = 0; i < n; ++i) host[i] = i * i + rank;
    cudaMemcpyAsync(data, host.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream);

    std::vector<std::function<void()>> steps;
    steps.push_back([&] { cudaMemsetAsync(histogram, 0, bins * sizeof(int), stream); });
    steps.push_back([&] { count_up<<<n / 128, 128, 0, stream>>>(histogram, data, n, bins); });
    steps.push_back([&] { ncclAllReduce(histogram, sums, bins, ncclInt32, ncclSum, comms[rank], stream); });
    steps.push_back([&] { prefix<<<1, 32, 0, stream>>>(sums, offsets, bins); });
    for (int iteration = 0; iteration < 3; ++iteration)
      for (const auto& step : steps) step();

    std::vector<int> result(bins), expected(bins);
    cudaMemcpyAsync(result.data(), offsets, bins * sizeof(int), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (int r = 0; r < gpus; ++r)
      for (int i = 0; i < n; ++i) ++expected[(i * i + r) % bins];
    for (int* memory : {data, histogram, sums, offsets}) cudaFree(memory);
    for (int b = 0, sum = 0; b < bins; sum += expected[b++]) wrong[rank] += result[b] != sum;
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < gpus; ++rank) threads.emplace_back(work, rank);
  for (auto& thread : threads) thread.join();
  int all = 0;
  for (int w : wrong) all += w;
  for (auto comm : comms) ncclCommDestroy(comm);
  std::printf("%s\n", all ? "FAIL" : "PASS");
  return all != 0;
}
