// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cuco run --probe-delay D`: the program as it is, and with every delivery between GPUs D later.
///
/// A kernel that waits for what another GPU sends takes longer by about D when it comes D later.
/// One that polls a word, does not get longer, and ends while something is still on its way to that
/// very word, did not wait for it: something older satisfied its wait, or it waits for the wrong
/// count.
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

/// One launch in both runs.
struct ProbedPhase {
  std::string kernel;
  int device = 0;
  int launch = 0;  ///< How many launches of the kernel came before it on the device.
  std::int64_t plain_ps = 0;
  std::int64_t delayed_ps = 0;
  /// "file.cu:12": lines that poll a word to which something was still on its way when it ended.
  std::vector<std::string> missed;
  bool waited = false;  ///< It grew by half the delay or more.

  [[nodiscard]] bool is_suspect() const { return !missed.empty() && !waited; }
};

/// Compares two reports of vcluster/run_report.h; phases that poll nothing are left out.
[[nodiscard]] std::vector<ProbedPhase> probe_phases(const Json& plain,
                                                    const Json& delayed,
                                                    std::int64_t delay_ps);

/// Findings (66) if a phase did not wait.
[[nodiscard]] Result<cli::ExitCode> run_probe(cli::Context& context,
                                              const ProbeFlags& flags,
                                              const targets::ProgramStart& start,
                                              const targets::ServerOptions& options);

}  // namespace cuco::run
