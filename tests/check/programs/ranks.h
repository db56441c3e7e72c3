// SPDX-License-Identifier: Apache-2.0
// Two ranks or more in one process, a window on each, and a device communicator.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>
#include <nccl.h>
#include <nccl_device.h>

#include "case.h"

#define CUDA(call)                                                                       \
  do {                                                                                   \
    const cudaError_t e = (call);                                                        \
    if (e != cudaSuccess) std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e)); \
  } while (0)
#define NCCL(call)                                                                       \
  do {                                                                                   \
    const ncclResult_t e = (call);                                                       \
    if (e != ncclSuccess) std::printf("line %d: %s\n", __LINE__, ncclGetErrorString(e)); \
  } while (0)

struct Ranks {
  int count = 0;
  std::vector<ncclComm_t> comms;
  std::vector<cudaStream_t> streams;
  std::vector<void*> memory;
  std::vector<ncclWindow_t> windows;
  std::vector<ncclDevComm> devs;
  bool has_dev = false;

  explicit Ranks(size_t bytes) {
    CUDA(cudaGetDeviceCount(&count));
    comms.resize(count);
    NCCL(ncclCommInitAll(comms.data(), count, nullptr));
    streams.resize(count);
    memory.resize(count);
    windows.resize(count);
    devs.resize(count);
    for (int r = 0; r < count; ++r) {
      CUDA(cudaSetDevice(r));
      CUDA(cudaStreamCreate(&streams[r]));
      NCCL(ncclMemAlloc(&memory[r], bytes));
      CUDA(cudaMemset(memory[r], 0, bytes));
      CUDA(cudaDeviceSynchronize());
    }
  }
  void make_windows(size_t bytes) {
    NCCL(ncclGroupStart());
    for (int r = 0; r < count; ++r) {
      NCCL(
          ncclCommWindowRegister(comms[r], memory[r], bytes, &windows[r], NCCL_WIN_COLL_SYMMETRIC));
    }
    NCCL(ncclGroupEnd());
  }
  void make_dev(
      int lsa_barriers, int gin_barriers, int signals, int counters, bool multimem = false) {
    ncclDevCommRequirements wanted;
    std::memset(&wanted, 0, sizeof wanted);
    wanted.lsaBarrierCount = lsa_barriers;
    wanted.railGinBarrierCount = gin_barriers;
    wanted.ginSignalCount = signals;
    wanted.lsaMultimem = multimem;
    wanted.ginCounterCount = counters;
    NCCL(ncclGroupStart());
    for (int r = 0; r < count; ++r)
      NCCL(ncclDevCommCreate(comms[r], &wanted, &devs[r]));
    NCCL(ncclGroupEnd());
    has_dev = true;
  }
  void wait() {
    for (int r = 0; r < count; ++r) {
      CUDA(cudaSetDevice(r));
      CUDA(cudaStreamSynchronize(streams[r]));
    }
  }
  void clean_up() {
    for (int r = 0; r < count; ++r) {
      CUDA(cudaSetDevice(r));
      if (has_dev) NCCL(ncclDevCommDestroy(comms[r], &devs[r]));
      if (windows[r] != nullptr) NCCL(ncclCommWindowDeregister(comms[r], windows[r]));
      NCCL(ncclCommDestroy(comms[r]));
      NCCL(ncclMemFree(memory[r]));
      CUDA(cudaStreamDestroy(streams[r]));
    }
  }
};
