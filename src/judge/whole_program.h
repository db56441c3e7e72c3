// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whole programs as workloads: one with main() that nobody has split into set-up and run. There is
/// no oracle for it, and what of it is set-up nobody knows, so it is second class: it is compared
/// with what its own seed brings back from the devices, bit by bit, and every report says so.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
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
};

/// The line that every report of such a program carries.
inline constexpr std::string_view kWholeProgramMark =
    "whole program, second class: compared with its seed's device-to-host copies, not with an "
    "oracle; its time is that of all device work from first to last, set-up included";

/// Nothing if the folder's workload.toml has no [whole] table, which is what makes it one.
[[nodiscard]] Result<std::optional<WholeProgram>> load_whole_program(const system::Path& folder);

struct WholeVerdict {
  bool same = false;
  std::vector<std::string> differences;  ///< How the candidate differs from the seed.
  std::size_t copies = 0;                ///< Different pieces of data that the seed brought back.
  // Virtual time by the server's clock, from the start of the first device work to the end of the
  // last, under the plain schedule.
  double seconds = 0;
  double seed_seconds = 0;
  std::string hardware;
};

struct WholeJudgement {
  system::Path candidate;
  int schedules = 0;  ///< Adversarial ones, beside the plain one.
  system::Tier tier = system::Tier::Hostile;
  std::function<bool()> interrupted = [] { return false; };  ///< Asked while programs run.
};

/// Builds and runs both on the virtual cluster, each in a sandbox.
[[nodiscard]] Result<WholeVerdict> judge_whole_program(const WholeProgram& program,
                                                       const WholeJudgement& judgement);

}  // namespace cuco::judge
