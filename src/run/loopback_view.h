// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program on loopback, and what is said of it: bytes, the error of the modelled network's
/// pacing, who waited for ever, and whether anybody waits for what is delivered.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/command.h"
#include "run/delay_probe.h"
#include "targets/loopback/loopback_run.h"

namespace cuco::run {

/// The program's own code is passed on, a signal as shells do.
[[nodiscard]] cli::ExitCode exit_code(cli::Context& context, const targets::RealEnding& ending);

/// The program's own, unless the library ended it or found something: then Findings (66), or
/// Environment (3) where this GPU cannot do what the program wants.
[[nodiscard]] cli::ExitCode code_with(const targets::LoopbackReport& report, cli::ExitCode program);

/// With --json a report alone is on standard output.
[[nodiscard]] Result<cli::ExitCode> run_loopback(cli::Context& context,
                                                 const targets::LoopbackOptions& options,
                                                 const std::vector<std::string>& argv);

/// Twice as it is and once with every delivery late. Findings (66) if nobody waits for them, or the
/// result changes.
[[nodiscard]] Result<cli::ExitCode> probe_loopback(cli::Context& context,
                                                   const ProbeFlags& flags,
                                                   const targets::LoopbackOptions& options,
                                                   const std::vector<std::string>& argv);

/// What late deliveries did to a program's time.
enum class DelayVerdict {
  Waits,         ///< It grew by the delay at least.
  NobodyWaits,   ///< It grew by less than half of it, though something was delivered.
  NothingCame,   ///< Nothing was delivered between ranks.
  Inconclusive,  ///< Without any delay it varies too much to say.
};
/// Seconds of two runs as they are and one with every delivery `delay` later.
[[nodiscard]] DelayVerdict judge_delay(
    double one, double other, double delayed, double delay, bool delivers);

/// "4 ranks in 1.2 s: 12 puts of 3.0 MiB, …", a line each.
[[nodiscard]] std::vector<std::string> describe(const targets::LoopbackRun& run,
                                                const targets::LoopbackOptions& options);

}  // namespace cuco::run
