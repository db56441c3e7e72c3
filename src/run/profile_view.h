// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cuco run --profile`: what kernels did, as tables per kernel and source line, or as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "cli/terminal/command.h"
#include "targets/virtual/kept_run.h"

namespace cuco::run {

/// The flags of `cuco run` about profiles.
struct ProfileFlags {
  bool enabled = false;
  system::Path file;      ///< JSON goes there; empty: tables on standard output.
  int lines = 10;         ///< Source lines shown per kernel.
  system::Path timeline;  ///< A trace goes there: see targets/virtual/run_trace.h.

  [[nodiscard]] bool any() const { return enabled || !file.empty() || !timeline.empty(); }

  void declare(cli::Arguments& arguments);
  /// Whether what it asks for can be written.
  [[nodiscard]] Result<void> check() const;
};

/// The tables for a report of vcluster/run_report.h.
[[nodiscard]] std::string profile_text(const Json& report,
                                       const cli::Terminal& terminal,
                                       int lines_per_kernel);

/// Runs the program with its own streams, then shows the profile.
[[nodiscard]] Result<cli::ExitCode> run_profiled(cli::Context& context,
                                                 const ProfileFlags& flags,
                                                 const targets::ProgramStart& start,
                                                 targets::ServerOptions options);

}  // namespace cuco::run
