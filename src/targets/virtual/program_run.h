// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program on the virtual cluster: started against a server, both ended together.
#pragma once

#include <functional>

#include "base/result.h"
#include "system/jobs/job.h"
#include "targets/virtual/server_process.h"

namespace cuco::targets {

/// How a run ended.
struct RunEnding {
  bool server_failed = false;  ///< Then the program's outcome means nothing.
  bool interrupted = false;
  system::JobOutcome program;
};

struct RankStart;

/// The program's standard streams.
struct RunStreams {
  int in = 0;
  int out = 1;
  int errors = 2;
};

/// Runs the ranks until they end, the server ends, or `interrupted` says so.
[[nodiscard]] Result<RunEnding> run_against(ServerProcess& server,
                                            const RankStart& ranks,
                                            const std::function<bool()>& interrupted,
                                            const RunStreams& streams = {});

}  // namespace cuco::targets
