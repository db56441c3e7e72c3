// SPDX-License-Identifier: Apache-2.0
/// \file
/// How nvcc is called, for programs of the user's and for candidates in a sandbox alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "system/jobs/process.h"
#include "toolchain/cuda_toolkit.h"

namespace cuco::toolchain {

/// Where nvcc runs, and behind which fences.
struct NvccJob {
  system::Path folder;  ///< Working folder.
  /// Absent: the source is the user's own, nvcc runs as the user would run it.
  std::optional<system::SandboxSpec> sandbox;
  system::Limits limits;
};

class Nvcc {
 public:
  explicit Nvcc(CudaToolkit toolkit) : toolkit_(std::move(toolkit)) {}

  [[nodiscard]] const CudaToolkit& toolkit() const { return toolkit_; }
  /// For cache keys: changes when another compiler is installed at the same place.
  [[nodiscard]] std::string identity() const;

  /// Runs it with these words. An Error: it could not even be started.
  [[nodiscard]] Result<system::JobOutcome> run(std::vector<std::string> words,
                                               const NvccJob& job) const;

 private:
  CudaToolkit toolkit_;
};

/// For a program with main() that the virtual cluster can run: PTX to execute, machine code for its
/// register counts, the libraries that `text` names. `own` are the program's flags.
[[nodiscard]] std::vector<std::string> program_flags(const CudaToolkit& toolkit,
                                                     std::string_view architecture,
                                                     const std::vector<std::string>& own,
                                                     std::string_view text);

/// What the compiler printed, as a person or a model may read it: without control characters and
/// without `folder`, which exists only during the build.
[[nodiscard]] std::string compiler_message(const system::JobOutcome& outcome,
                                           const system::Path& folder);

}  // namespace cuco::toolchain
