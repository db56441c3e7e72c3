// SPDX-License-Identifier: Apache-2.0
/// \file
/// Asks the CUDA driver, where there is one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cuco::targets {

struct GpuFacts {
  std::string name;
  std::uint64_t memory_bytes = 0;
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;

  /// As nvcc counts: 90.
  [[nodiscard]] std::uint32_t sm() const {
    return static_cast<std::uint32_t>(compute_major * 10 + compute_minor);
  }
};

/// What the CUDA driver says of itself and its devices.
struct DriverFacts {
  std::string version;  ///< The CUDA version it supports: "13.0".
  std::vector<GpuFacts> gpus = {};
  bool mps = false;             ///< A Multi-Process Service daemon is running.
  bool green_contexts = false;  ///< SMs can be divided between contexts.
};

/// Nothing if there is no driver or it does not start.
[[nodiscard]] std::optional<DriverFacts> inspect_driver();

}  // namespace cuco::targets
