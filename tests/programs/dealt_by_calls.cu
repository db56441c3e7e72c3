// SPDX-License-Identifier: Apache-2.0
// One process deals parts of an array to all GPUs and collects the results with ncclScatter() and
// ncclGather(), the root's own part in place; then all exchange parts with ncclAlltoAll().
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <utility>
#include <vector>

#define OK(call)                                                      \
  if (const int error = static_cast<int>(call); error != 0) {         \
    std::printf("line %d: error %d\nFAIL\n", __LINE__, error);        \
    return 1;                                                         \
  }

__global__ void step(int* part, int n, int gpu) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) part[i] = part[i] * 3 + gpu;
}

struct Gpu {
  cudaStream_t work, exchange;
  cudaEvent_t worked, exchanged;
  int *all, *part, *from, *to;
};

int main() {
  constexpr int kPart = 2000;
  int gpus = 0;
  OK(cudaGetDeviceCount(&gpus));
  std::vector<ncclComm_t> comms(gpus);
  OK(ncclCommInitAll(comms.data(), gpus, nullptr));
  std::vector<Gpu> all(gpus);
  std::vector<int> start(kPart * gpus);
  for (int d = 0; d < gpus; ++d) {
    Gpu& gpu = all[d];
    OK(cudaSetDevice(d));
    OK(cudaStreamCreate(&gpu.work));
    OK(cudaStreamCreate(&gpu.exchange));
    OK(cudaEventCreateWithFlags(&gpu.worked, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&gpu.exchanged, cudaEventDisableTiming));
    for (int** buffer : {&gpu.all, &gpu.from, &gpu.to}) {
      OK(cudaMalloc(buffer, start.size() * sizeof(int)));
    }
    OK(cudaMalloc(&gpu.part, kPart * sizeof(int)));
    for (int i = 0; i < kPart * gpus; ++i) start[i] = i % 101 + 1000 * d;
    for (int* buffer : {gpu.all, gpu.from}) {
      OK(cudaMemcpy(buffer, start.data(), start.size() * sizeof(int), cudaMemcpyHostToDevice));
    }
  }

  constexpr int kRounds = 3;
  const int root = gpus - 1;
  const auto part_of = [&](int d) { return d == root ? all[d].all + root * kPart : all[d].part; };
  for (int round = 0; round < kRounds; ++round) {
    OK(ncclGroupStart());
    for (int d = 0; d < gpus; ++d) {
      OK(ncclScatter(all[d].all, part_of(d), kPart, ncclInt, root, comms[d], all[d].work));
    }
    OK(ncclGroupEnd());
    for (int d = 0; d < gpus; ++d) {
      OK(cudaSetDevice(d));
      step<<<(kPart + 127) / 128, 128, 0, all[d].work>>>(part_of(d), kPart, d);
      OK(cudaEventRecord(all[d].worked, all[d].work));
      OK(cudaStreamWaitEvent(all[d].exchange, all[d].worked, 0));
    }
    OK(ncclGroupStart());
    for (int d = 0; d < gpus; ++d) {
      Gpu& gpu = all[d];
      OK(ncclGather(part_of(d), gpu.all, kPart, ncclInt, root, comms[d], gpu.exchange));
      OK(ncclAlltoAll(gpu.from, gpu.to, kPart, ncclInt, comms[d], gpu.exchange));
    }
    OK(ncclGroupEnd());
    for (int d = 0; d < gpus; ++d) {
      OK(cudaSetDevice(d));
      std::swap(all[d].from, all[d].to);
      OK(cudaEventRecord(all[d].exchanged, all[d].exchange));
      OK(cudaStreamWaitEvent(all[d].work, all[d].exchanged, 0));
    }
  }

  int wrong = 0;
  std::vector<int> got(start.size());
  for (int d = 0; d < gpus; ++d) {
    OK(cudaSetDevice(d));
    OK(cudaDeviceSynchronize());
    if (d == root) {
      OK(cudaMemcpy(got.data(), all[d].all, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
      for (int i = 0; i < kPart * gpus; ++i) {
        int expected = i % 101 + 1000 * root;
        for (int round = 0; round < kRounds; ++round) expected = expected * 3 + i / kPart;
        wrong += got[i] != expected;
      }
    }
    // An odd number of exchanges is as good as one.
    OK(cudaMemcpy(got.data(), all[d].from, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < kPart * gpus; ++i) {
      const int sender = i / kPart, place = d * kPart + i % kPart;
      wrong += got[i] != place % 101 + 1000 * sender;
    }
  }
  for (int d = 0; d < gpus; ++d) {
    OK(cudaSetDevice(d));
    for (int* buffer : {all[d].all, all[d].part, all[d].from, all[d].to}) OK(cudaFree(buffer));
    for (cudaEvent_t event : {all[d].worked, all[d].exchanged}) OK(cudaEventDestroy(event));
    for (cudaStream_t stream : {all[d].work, all[d].exchange}) OK(cudaStreamDestroy(stream));
    OK(ncclCommDestroy(comms[d]));
  }
  std::printf("%d wrong\n%s\n", wrong, wrong == 0 ? "PASS" : "FAIL");
  return wrong != 0;
}
