// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cuco run --check`: prints the findings for people and writes them for programs.
#pragma once

#include <cstdint>
#include <string>

#include "cli/terminal/command.h"

namespace cuco::run {

/// The flags of `cuco run` about checking.
struct CheckFlags {
  bool enabled = false;
  std::string json;          ///< File for the findings; empty: none.
  std::string suppressions;  ///< File of findings to ignore; empty: none.

  void declare(cli::Arguments& arguments);
  [[nodiscard]] Result<void> check() const;
};

/// Prints the findings of a checked run (ServerProcess::findings) under that schedule; 0 is the
/// plain one. Findings (66) if there are any, `otherwise` if not.
[[nodiscard]] Result<cli::ExitCode> tell_findings(cli::Context& context,
                                                  const CheckFlags& flags,
                                                  const std::string& found,
                                                  std::uint64_t schedule_seed,
                                                  cli::ExitCode otherwise);

}  // namespace cuco::run
