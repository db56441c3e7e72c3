// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cuco run --check`: what the checker found, told to people and written for programs.
#pragma once

#include <string>

#include "cli/command.h"
#include "vcluster/virtual_run.h"

namespace cuco::cli {

/// The flags of `cuco run` about checking.
struct CheckFlags {
  bool enabled = false;
  std::string json;          ///< File for the findings; empty: none.
  std::string suppressions;  ///< File of findings not to be told; empty: none.

  void declare(Arguments& arguments);
  [[nodiscard]] Result<void> check() const;
};

/// Ends the server of a checked run and tells what it found. Findings (66) if there is something,
/// `otherwise` if not.
[[nodiscard]] Result<ExitCode> tell_findings(Context& context,
                                             const CheckFlags& flags,
                                             vcluster::ServerProcess& server,
                                             ExitCode otherwise);

}  // namespace cuco::cli
