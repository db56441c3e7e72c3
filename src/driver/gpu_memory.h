// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory of a real GPU that two processes share by a file descriptor (CUDA's virtual memory
/// management): the judge's own process has it, and a rank maps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace cuco::driver {

/// Needs a current context in this process (any CUDA runtime call makes one).
class GpuMemory {
 public:
  /// Makes it and exports it.
  [[nodiscard]] static Result<GpuMemory> create(std::size_t bytes);
  /// Maps what another process exported.
  [[nodiscard]] static Result<GpuMemory> open(int fd, std::size_t bytes);

  [[nodiscard]] std::uint64_t address() const { return address_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] int fd() const { return fd_; }  ///< To be sent; -1 where it was opened.

 private:
  std::uint64_t address_ = 0;
  std::size_t bytes_ = 0;
  int fd_ = -1;
};

/// "NVIDIA H200"
[[nodiscard]] Result<std::string> gpu_name();

}  // namespace cuco::driver
