// SPDX-License-Identifier: Apache-2.0
/// \file
/// From source to shared object: candidates by nvcc in a sandbox, oracles by g++, both kept by
/// content, so that the same text is compiled once.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "program/preprocessed.h"
#include "system/jobs/job.h"
#include "toolchain/cuda_toolkit.h"

namespace cuco::toolchain {

struct BuildSettings {
  system::Path cache;  ///< Folder of finished objects.
  system::Tier tier = system::Tier::Hostile;
  std::string architecture;            ///< "90"
  std::optional<CudaToolkit> cuda;     ///< Absent: find_cuda() in this process's environment.
  std::chrono::seconds deadline{300};  ///< Generous: machines are busy.
  /// Where only device code differs from something built before, only that may be compiled.
  bool device_only = false;
};

/// Its toolkit, or this machine's.
[[nodiscard]] Result<CudaToolkit> toolkit_of(const BuildSettings& settings);

struct CompileError {
  std::string message;  ///< What the compiler printed, without control characters.
};
struct CompileTimeout {
  double limit_seconds = 0;
};

/// The object, or why there is none. An Error is our own trouble (no nvcc, a missing fence).
using BuildResult = std::variant<system::Path, CompileError, CompileTimeout>;

/// What the compiler saw of the frozen code of an object that build_candidate made, on both sides.
struct FrozenParts {
  program::FrozenText host;
  program::FrozenText device;
};
[[nodiscard]] Result<FrozenParts> frozen_parts(const system::Path& object);

[[nodiscard]] Result<BuildResult> build_candidate(std::string_view source,
                                                  const BuildSettings& settings);

/// One with main(). `flags` are its own, for nvcc, after ours.
[[nodiscard]] Result<BuildResult> build_whole_program(std::string_view source,
                                                      const std::vector<std::string>& flags,
                                                      const BuildSettings& settings);

[[nodiscard]] Result<system::Path> build_oracle(const system::Path& source,
                                                const BuildSettings& settings);

}  // namespace cuco::toolchain
