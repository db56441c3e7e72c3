// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program of the user's on real GPUs: started, waited for, interrupted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "system/jobs/job.h"
#include "system/os/environment.h"
#include "targets/virtual/program_run.h"

namespace cuco::targets {

/// A command in the user's folder.
struct RealStart {
  std::vector<std::string> argv;
  system::Environment environment;
};

struct RealEnding {
  bool interrupted = false;
  system::JobOutcome program;
};

/// Runs it until it ends or `interrupted` says so.
[[nodiscard]] Result<RealEnding> run_real(const RealStart& start,
                                          const std::function<bool()>& interrupted,
                                          const RunStreams& streams = {});

/// The same without input, its output kept.
struct KeptReal {
  RealEnding ending;
  std::string out;
  std::string errors;
};
[[nodiscard]] Result<KeptReal> run_and_keep_real(const RealStart& start,
                                                 const std::function<bool()>& interrupted);

}  // namespace cuco::targets
