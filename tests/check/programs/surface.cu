// SPDX-License-Identifier: Apache-2.0
// What `cuco run --check` says around its findings: surface.py runs each case and reads the words.
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>
#include <nccl.h>

namespace {

__global__ void fill(float* to, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    to[i] = static_cast<float>(i);
}

float* filled(int count) {
  float* data = nullptr;
  cudaMalloc(&data, count * sizeof(float));
  fill<<<1, 64>>>(data, count);
  return data;
}

int fail_in_order() {
  float* data = filled(64);
  cudaDeviceSynchronize();
  cudaFree(data);
  return 1;
}

int leave_early() {
  filled(1 << 20);
  return 0;
}

int leak() {
  filled(64);
  cudaDeviceSynchronize();
  return 0;
}

/// 1,000 elements of memory, 1,024 asked for.
int reduce_too_much() {
  ncclComm_t comm;
  ncclCommInitAll(&comm, 1, nullptr);
  float* from = filled(1024);
  float* to = filled(1000);
  cudaDeviceSynchronize();
  ncclAllReduce(from, to, 1024, ncclFloat, ncclSum, comm, cudaStreamLegacy);
  cudaDeviceSynchronize();
  cudaFree(from);
  cudaFree(to);
  ncclCommDestroy(comm);
  return 0;
}

int reduce_one_by_one(bool grouped) {
  ncclComm_t comms[2];
  float* data[2];
  ncclCommInitAll(comms, 2, nullptr);
  for (int i = 0; i < 2; ++i) {
    cudaSetDevice(i);
    data[i] = filled(64);
    cudaDeviceSynchronize();
  }
  if (grouped) ncclGroupStart();
  for (int i = 0; i < 2; ++i) {
    cudaSetDevice(i);
    ncclAllReduce(data[i], data[i], 64, ncclFloat, ncclSum, comms[i], cudaStreamLegacy);
  }
  if (grouped) ncclGroupEnd();
  for (int i = 0; i < 2; ++i) {
    cudaSetDevice(i);
    cudaDeviceSynchronize();
    cudaFree(data[i]);
    ncclCommDestroy(comms[i]);
  }
  return 0;
}

}  // namespace

int main(int, char** argv) {
  const char* wanted = argv[1];
  if (std::strcmp(wanted, "fail_in_order") == 0) return fail_in_order();
  if (std::strcmp(wanted, "leave_early") == 0) return leave_early();
  if (std::strcmp(wanted, "leak") == 0) return leak();
  if (std::strcmp(wanted, "reduce_too_much") == 0) return reduce_too_much();
  if (std::strcmp(wanted, "no_group") == 0) return reduce_one_by_one(false);
  if (std::strcmp(wanted, "group") == 0) return reduce_one_by_one(true);
  return 2;
}
