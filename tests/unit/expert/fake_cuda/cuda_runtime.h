// SPDX-License-Identifier: Apache-2.0
/// \file
/// As much of CUDA's runtime as tells what is ordered behind what: streams and events, no work.
#pragma once

#include <cstddef>
#include <map>
#include <set>

/// Operations that are over when what comes next begins.
struct FakeStream {
  std::set<int> before;
};
struct FakeEvent {
  std::set<int> before;
};
using cudaStream_t = FakeStream*;
using cudaEvent_t = FakeEvent*;

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue };
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeDevice };
struct cudaPointerAttributes {
  cudaMemoryType type;
};
constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDisableTiming = 2;

/// Device memory that CUDA knows, whoever has allocated it.
inline std::map<const char*, std::size_t>& fake_memory() {
  static std::map<const char*, std::size_t> memory;
  return memory;
}

inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                            const void* pointer) {
  attributes->type = cudaMemoryTypeUnregistered;
  for (const auto& [begin, bytes] : fake_memory()) {
    const auto* at = static_cast<const char*>(pointer);
    if (begin <= at && at < begin + bytes) attributes->type = cudaMemoryTypeDevice;
  }
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  *stream = new FakeStream;
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new FakeEvent;
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->before = stream->before;
  return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  stream->before.insert(event->before.begin(), event->before.end());
  return cudaSuccess;
}
