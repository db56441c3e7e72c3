// SPDX-License-Identifier: Apache-2.0
// What the test programs share: checks that name the line, and one communicator per device of the
// process, driven from one thread.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include <cuda_runtime.h>
#include <nccl.h>

#define CUDA(call)                                                                      \
  do {                                                                                  \
    const cudaError_t e = (call);                                                       \
    if (e != cudaSuccess) {                                                             \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e)); \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (0)

#define NCCL(call)                                                                      \
  do {                                                                                  \
    const ncclResult_t e = (call);                                                      \
    if (e != ncclSuccess) {                                                             \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, ncclGetErrorString(e)); \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (0)

#define EXPECT(condition)                                                   \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                         \
    }                                                                       \
  } while (0)

struct Rank {
  int rank = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};

inline std::vector<Rank> all_ranks() {
  int count = 0;
  CUDA(cudaGetDeviceCount(&count));
  std::vector<ncclComm_t> comms(count);
  NCCL(ncclCommInitAll(comms.data(), count, nullptr));
  std::vector<Rank> ranks(count);
  for (int r = 0; r < count; ++r) {
    CUDA(cudaSetDevice(r));
    ranks[r].rank = r;
    ranks[r].comm = comms[r];
    CUDA(cudaStreamCreate(&ranks[r].stream));
  }
  return ranks;
}

inline void synchronise(const std::vector<Rank>& ranks) {
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    CUDA(cudaStreamSynchronize(r.stream));
  }
}

/// What is used until the end: `free_all` frees it, if nobody has.
struct Kept {
  int device = 0;
  void* memory = nullptr;
  ncclComm_t comm = nullptr;  ///< Of a window.
  ncclWindow_t window = nullptr;
};

inline std::vector<Kept>& everything_kept() {
  static std::vector<Kept> all;
  return all;
}

inline void keep(const Kept& one) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  everything_kept().push_back(one);
}

inline void free_all() {
  for (const Kept& one : everything_kept()) {
    if (one.window != nullptr) NCCL(ncclCommWindowDeregister(one.comm, one.window));
  }
  for (const Kept& one : everything_kept()) {
    CUDA(cudaSetDevice(one.device));
    if (one.window != nullptr) {
      NCCL(ncclMemFree(one.memory));
    } else {
      CUDA(cudaFree(one.memory));
    }
  }
  everything_kept().clear();
}

template <typename T>
T* upload(int device, const std::vector<T>& values) {
  T* memory = nullptr;
  CUDA(cudaSetDevice(device));
  CUDA(cudaMalloc(&memory, values.size() * sizeof(T) + 1));
  CUDA(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  keep({device, memory});
  return memory;
}

template <typename T>
std::vector<T> download(const void* memory, size_t count) {
  std::vector<T> values(count);
  CUDA(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}
