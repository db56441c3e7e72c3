// SPDX-License-Identifier: Apache-2.0
/// \file
/// How functions of the CUDA runtime are replaced: ours are found first, and call the real ones.
#pragma once

#include <cstring>

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "loopback/gpu/divided_gpu.h"
#include "loopback/gpu/rank_streams.h"
#include "loopback/gpu/settings.h"

#define CUCO_LOOPBACK_EXPORT extern "C" __attribute__((visibility("default")))

namespace cuco::loopback {

/// Ends the program where its runtime is linked statically.
[[nodiscard]] void* find_real(const char* name);

/// Before a rank may wait for another: what the program's kernels need that no launch gets while
/// other kernels run.
void prepare_kernels();

/// The real function of that name.
#define CUCO_LOOPBACK_REAL(name)                                                 \
  ([]() -> decltype(&::name) {                                                   \
    static const auto kReal =                                                    \
        reinterpret_cast<decltype(&::name)>(::cuco::loopback::find_real(#name)); \
    return kReal;                                                                \
  }())

/// One operation on a stream: makes the rank's context current, and keeps the order of the default
/// stream.
class StreamUse {
 public:
  StreamUse(cudaStream_t stream, const char* what) : what_(what) {
    const int current = Machine::get().current_rank();
    if (stream == cudaStreamPerThread) {
      stream_ = Streams::get().of_thread(current);
    } else if (stream != cudaStreamLegacy) {
      stream_ = stream;
    }
    rank_ = Streams::get().rank_of(stream_, current);
    Streams::get().before(rank_, stream_);
  }
  StreamUse(const StreamUse&) = delete;
  StreamUse& operator=(const StreamUse&) = delete;
  ~StreamUse() { Streams::get().after(rank_, stream_, what_); }

  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  [[nodiscard]] int rank() const { return rank_; }

 private:
  CUstream stream_ = nullptr;
  int rank_ = 0;
  const char* what_;
};

[[nodiscard]] inline cudaError_t error_of(CUresult result) {
  // The numbers are the same but for what the runtime has no name for.
  return static_cast<cudaError_t>(result);
}

}  // namespace cuco::loopback
