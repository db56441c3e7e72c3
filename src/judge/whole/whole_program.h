// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whole programs as workloads: one with main() that nobody has split into set-up and run. There is
/// no oracle for it, and what of it is set-up nobody knows, so it is second class: it is compared
/// with what its own seed brings back from the devices, and every report says so.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "judge/whole/seed_comparison.h"
#include "system/jobs/job.h"
#include "system/os/files.h"

namespace cuco::judge {

struct WholeProgram {
  std::string name;
  std::string summary;
  int ranks = 1;
  std::string topology;
  std::vector<std::string> args;
  std::vector<std::string> flags;  ///< For nvcc: "-lmpi" …
  system::Path seed;               ///< program.cu
  ComparisonRules rules;           ///< exact, type, reduction, copies
};

/// The line that every report of such a program carries.
inline constexpr std::string_view kWholeProgramMark =
    "whole program, second class: compared with its seed's device-to-host copies, not with an "
    "oracle; its time is that of all device work from first to last";

/// The cluster that programs of so many ranks are meant for, if nobody says.
[[nodiscard]] std::string_view usual_topology(int ranks);

/// Flags for nvcc: header folders, the program's own if it includes from there, then the rest.
[[nodiscard]] std::vector<std::string> compiler_flags(const std::string& source,
                                                      const system::Path& file,
                                                      const std::vector<std::string>& includes,
                                                      const std::vector<std::string>& flags);

/// Nothing if the folder's workload.toml has no [whole] table, which is what makes it one.
[[nodiscard]] Result<std::optional<WholeProgram>> load_whole_program(const system::Path& folder);

}  // namespace cuco::judge
