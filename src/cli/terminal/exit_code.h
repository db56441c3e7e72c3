// SPDX-License-Identifier: Apache-2.0
/// \file
/// Exit codes.
#pragma once

namespace cuco::cli {

/// Exit codes of every command. `cuco run` passes the program's own code on unchanged once the
/// program has started (see `passed_on`).
enum class ExitCode : int {
  Done = 0,
  JobFailed = 1,     ///< The work was done and the answer is no: nothing correct was found.
  BadUsage = 2,      ///< Wrong arguments or input.
  Environment = 3,   ///< This machine lacks something: a tool, a device, a key.
  Findings = 66,     ///< `--check` found bugs in the program.
  Internal = 125,    ///< cuco itself failed after a program had started.
  Interrupted = 130  ///< Ctrl-C.
};

[[nodiscard]] constexpr ExitCode passed_on(int program_status) {
  return static_cast<ExitCode>(program_status);
}

}  // namespace cuco::cli
