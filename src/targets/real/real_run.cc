// SPDX-License-Identifier: Apache-2.0
#include "targets/real/real_run.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "system/jobs/process.h"
#include "system/os/files.h"
#include "system/os/open_file.h"

namespace cuco::targets {
namespace {

/// Between two looks at `interrupted`, which no descriptor reports.
constexpr std::chrono::milliseconds kPollInterval{200};

}  // namespace

Result<RealEnding> run_real(const RealStart& start,
                            const std::function<bool()>& interrupted,
                            const RunStreams& streams) {
  system::JobSpec spec;
  spec.command.argv = start.argv;
  spec.command.environment = start.environment;
  spec.command.folder = std::filesystem::current_path();
  spec.command.fds = {{streams.in, 0}, {streams.out, 1}, {streams.errors, 2}};
  CUCO_TRY_ASSIGN(system::Process program, system::Process::start(spec));
  RealEnding ending;
  for (bool asked = false;;) {
    CUCO_TRY_ASSIGN(auto outcome, program.wait(kPollInterval));
    if (outcome) {
      ending.program = *std::move(outcome);
      return ending;
    }
    ending.interrupted = interrupted();
    if (ending.interrupted && !std::exchange(asked, true)) program.kill();
  }
}

Result<KeptReal> run_and_keep_real(const RealStart& start,
                                   const std::function<bool()>& interrupted) {
  CUCO_TRY_ASSIGN(const system::TempFolder folder, system::TempFolder::create("cuco-kept"));
  CUCO_TRY_ASSIGN(const system::Fd in, system::open_to_read("/dev/null"));
  CUCO_TRY_ASSIGN(const system::Fd out, system::open_to_append(folder.path() / "out"));
  CUCO_TRY_ASSIGN(const system::Fd errors, system::open_to_append(folder.path() / "errors"));
  KeptReal kept;
  CUCO_TRY_ASSIGN(
      kept.ending,
      run_real(start, interrupted, {.in = in.get(), .out = out.get(), .errors = errors.get()}));
  CUCO_TRY_ASSIGN(kept.out, system::read_file(folder.path() / "out"));
  CUCO_TRY_ASSIGN(kept.errors, system::read_file(folder.path() / "errors"));
  return kept;
}

}  // namespace cuco::targets
