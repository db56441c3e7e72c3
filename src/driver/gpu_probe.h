// SPDX-License-Identifier: Apache-2.0
/// \file
/// A kernel of ours with a fixed amount of work. Empty, it brings this process's context onto the
/// GPU; with work, it shows whether the GPU is ours and as fast as before.
#pragma once

#include <chrono>

#include "base/result.h"
#include "driver/gpu_driver.h"

namespace cuco::driver {

/// Needs a current context.
class GpuProbe {
 public:
  [[nodiscard]] static Result<GpuProbe> load();

  /// Returns when the GPU has run an empty kernel of this process, and so nothing older of it.
  [[nodiscard]] bool touch() const { return run(1, 0); }
  /// About 100 us of dependent arithmetic on every multiprocessor.
  [[nodiscard]] std::chrono::nanoseconds time_work() const;

 private:
  [[nodiscard]] bool run(unsigned blocks, unsigned rounds) const;

  GpuDriver driver_;
  void* kernel_ = nullptr;
};

/// What the driver's management library says of the first GPU.
class GpuHealth {
 public:
  struct Reading {
    double clock_mhz = 0;  ///< 0: not known.
    bool throttled = false;
  };
  GpuHealth();
  [[nodiscard]] Reading read() const;

 private:
  void* device_ = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*reasons_)(void*, unsigned long long*) = nullptr;
};

}  // namespace cuco::driver
