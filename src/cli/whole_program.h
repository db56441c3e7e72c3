// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whole programs as workloads: one with main() that nobody has split into set-up and run. There is
/// no oracle for it and no clock of ours inside it, so it is second class: it is compared with what
/// its own seed brings back from the devices, bit by bit, and every report says so.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "system/files.h"

namespace cuco::cli {

struct WholeProgram {
  std::string name;
  std::string summary;
  int ranks = 1;
  std::string topology;
  std::vector<std::string> args;
  system::Path seed;  ///< program.cu
};

/// The line that every report of such a program carries.
inline constexpr std::string_view kWholeProgramMark =
    "whole program: compared with its seed's device-to-host copies, not with an oracle; not "
    "sandboxed, "
    "not timed";

/// Nothing if the folder's workload.toml has no [whole] table, which is what makes it one.
[[nodiscard]] Result<std::optional<WholeProgram>> load_whole_program(const system::Path& folder);

struct WholeVerdict {
  bool same = false;
  std::vector<std::string> differences;  ///< How the candidate differs from the seed.
  std::size_t copies = 0;                ///< Different pieces of data that the seed brought back.
};

/// Builds and runs both on the virtual cluster, the candidate also under `schedules` adversarial
/// schedules.
[[nodiscard]] Result<WholeVerdict> judge_whole_program(const WholeProgram& program,
                                                       const system::Path& candidate,
                                                       int schedules);

}  // namespace cuco::cli
