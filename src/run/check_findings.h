// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cuco run --check`: prints the findings for people and writes them for programs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "check/finding/finding.h"
#include "cli/terminal/command.h"
#include "targets/virtual/program_run.h"

namespace cuco::run {

/// The flags of `cuco run` about checking.
struct CheckFlags {
  bool enabled = false;
  std::string json;          ///< File for the findings; empty: none.
  std::string suppressions;  ///< File of findings to ignore; empty: none.

  void declare(cli::Arguments& arguments);
  [[nodiscard]] Result<void> check() const;
};

/// How the program ended that was checked.
struct CheckedEnd {
  cli::ExitCode otherwise = cli::ExitCode::Done;  ///< The exit code where nothing is found.
  bool is_whole = true;                           ///< It ran to its end, whatever it returned.
};

/// Did it come to its own end? Not if a signal or the server ended it.
[[nodiscard]] bool ran_to_its_end(const targets::RunEnding& ending);

/// What was found in one or more runs of a program. A finding is told once, when it is first seen;
/// leaks, which say the least, come last and keep nothing from being seen.
class CheckReport {
 public:
  CheckReport(cli::Context& context, const CheckFlags& flags) : context_(context), flags_(flags) {}

  /// The findings of a run (ServerProcess::findings) under that schedule; 0 is the plain one.
  [[nodiscard]] Result<void> add(const std::string& found, std::uint64_t schedule_seed);
  /// Something that only shows in a comparison of schedules, told by whoever found it.
  void add_difference(std::uint64_t schedule_seed, std::vector<std::string> lines);
  [[nodiscard]] bool has_differences() const { return !differences_.empty(); }
  [[nodiscard]] bool has_findings() const { return !findings_.empty() || !differences_.empty(); }

  /// Tells what is left, writes what --json asks for; Findings (66) if there were any.
  [[nodiscard]] Result<cli::ExitCode> finish(const CheckedEnd& end);

 private:
  struct Difference {
    std::uint64_t seed = 0;
    std::vector<std::string> lines;
  };
  struct Found {
    check::Finding finding;
    std::uint64_t seed = 0;
  };
  void tell(const check::Finding& finding);
  [[nodiscard]] std::string json(const CheckedEnd& end, cli::ExitCode code) const;

  cli::Context& context_;
  const CheckFlags& flags_;
  std::vector<Found> findings_;
  std::vector<Difference> differences_;
  std::size_t suppressed_ = 0;
  std::vector<std::uint64_t> schedules_;  ///< Seeds of the runs.
  std::map<std::string, std::vector<std::string>> sources_;
};

}  // namespace cuco::run
