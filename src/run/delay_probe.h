// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cuco run --probe-delay D`: the program as it is, and with every delivery between GPUs D later.
///
/// What is late is the arrival: of payloads, signals and peers' stores. It is made late twice, with
/// the completions that tell a sender that its source is free, and without them: so a flush cannot
/// pass for a wait, nor be what makes an earlier phase's signal come in time. A wait is named by
/// what ended it. It did not wait if nothing arrived while it looked, something was on its way to
/// the very word when it went on, and fewer had arrived there than such waits had ended: something
/// older satisfied it. Waits for an epoch are never named: nothing older satisfies them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/terminal/command.h"
#include "targets/virtual/kept_run.h"

namespace cuco::run {

struct ProbeFlags {
  std::string delay;  ///< "100ms", "5us"; empty: no probe.

  void declare(cli::Arguments& arguments);
  /// Picoseconds.
  [[nodiscard]] Result<std::int64_t> delay_ps() const;
};

/// All launches of a kernel that wait at one line, in a late run.
struct ProbedWait {
  std::string kernel;
  std::string where;            ///< "file.cu:12".
  int launches = 0;             ///< Of all devices.
  int for_arrivals = 0;         ///< In so many an arrival ended the wait,
  int for_completions = 0;      ///< in so many a completion of the device's own puts,
  std::vector<int> not_waited;  ///< and these, by device, did not wait: one entry each.
  std::int64_t plain_ps = 0;    ///< Longest from first to last look.
  std::int64_t delayed_ps = 0;

  [[nodiscard]] bool is_suspect() const { return !not_waited.empty(); }
};

/// Compares two reports of vcluster/run_report.h. Lines that read only what no delivery ever
/// reaches are no waits, and are left out.
[[nodiscard]] std::vector<ProbedWait> probe_waits(const Json& plain, const Json& delayed);

/// The waits of both late runs: what was named in one of them is named.
[[nodiscard]] std::vector<ProbedWait> joined(std::vector<ProbedWait> arrivals_late,
                                             const std::vector<ProbedWait>& all_late);

/// Findings (66) if a wait did not wait, or the result changes.
[[nodiscard]] Result<cli::ExitCode> run_probe(cli::Context& context,
                                              const ProbeFlags& flags,
                                              const targets::ProgramStart& start,
                                              const targets::ServerOptions& options);

}  // namespace cuco::run
