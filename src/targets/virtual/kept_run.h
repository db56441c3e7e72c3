// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run of a program with its output kept, and how two such runs differ.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "targets/virtual/program_run.h"
#include "vcluster/record/copy_log.h"

namespace cuco::targets {

/// What to run; the server options decide under which circumstances.
struct ProgramStart {
  std::vector<std::string> argv;
  bool uses_mpi = false;
  std::optional<system::Tier> fences;  ///< Absent: it is the user's own program, and runs as such.
};

struct KeptRun {
  RunEnding ending;
  std::string out;
  std::string errors;  ///< The program's and the server's.
  std::set<vcluster::LoggedCopy> copies;
  std::vector<vcluster::CopyEntry> copy_log;
  /// If the options asked for contents. Shared: runs are compared in several places.
  std::shared_ptr<const vcluster::CopyContents> contents;
  std::string report;    ///< If the options asked for one: see vcluster/run_report.h.
  std::string findings;  ///< Of a checked run.
};

/// Runs to the end without input; nothing is shown.
[[nodiscard]] Result<KeptRun> run_and_keep(const ProgramStart& start,
                                           ServerOptions options,
                                           const std::function<bool()>& interrupted);

/// What a correct program has in common under all schedules and these two runs do not: how they
/// ended, what they printed, what came back from devices. Empty: no difference.
[[nodiscard]] std::vector<std::string> differences(const KeptRun& plain, const KeptRun& other);

/// How the program ended: "exits with 1".
[[nodiscard]] std::string ending_of(const KeptRun& run);

/// A line of output with its numbers masked if it speaks of times or rates: those do change.
[[nodiscard]] std::string without_times(std::string_view line);

}  // namespace cuco::targets
