// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cuco run --schedules K`: the program under the plain schedule and K adversarial ones.
#pragma once

#include <cstdint>

#include "cli/terminal/command.h"
#include "run/check_findings.h"
#include "targets/virtual/kept_run.h"

namespace cuco::run {

/// The flags of `cuco run` about schedules.
struct ScheduleFlags {
  int count = 0;           ///< Adversarial schedules beside the plain one; 0: just run.
  std::uint64_t seed = 0;  ///< Of the one schedule to run under; 0: plain.

  void declare(cli::Arguments& arguments);
  [[nodiscard]] Result<void> check() const;
};

/// Shows the plain run's output, then reports the first schedule that differs, and how; in checked
/// runs also what is found under any of them. Findings (66) if there is something, otherwise the
/// program's exit code.
[[nodiscard]] Result<cli::ExitCode> run_schedules(cli::Context& context,
                                                  const ScheduleFlags& flags,
                                                  const CheckFlags& check,
                                                  const targets::ProgramStart& start,
                                                  const targets::ServerOptions& options);

}  // namespace cuco::run
