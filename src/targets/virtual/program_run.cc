// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/program_run.h"

#include <array>
#include <filesystem>
#include <utility>

#include "system/os/poll.h"
#include "targets/virtual/rank_start.h"

namespace cuco::targets {
namespace {

/// Between two looks at `interrupted`, which no descriptor reports.
constexpr std::chrono::milliseconds kPollInterval{200};

}  // namespace

Result<RunEnding> run_against(ServerProcess& server,
                              const RankStart& ranks,
                              const std::function<bool()>& interrupted,
                              const RunStreams& streams) {
  system::JobSpec spec;
  spec.command.argv = ranks.argv;
  spec.command.environment = ranks.environment;
  spec.sandbox = ranks.sandbox;
  spec.limits = ranks.limits;
  if (ranks.sandbox) {  // its output is kept, up to a limit
    spec.command.folder = "/tmp";
  } else {
    spec.command.folder = std::filesystem::current_path();
    spec.command.fds = {{streams.in, 0}, {streams.out, 1}, {streams.errors, 2}};
  }
  CUCO_TRY_ASSIGN(system::Process program, system::Process::start(spec));
  RunEnding ending;
  bool asked = false;
  for (;;) {
    std::array<system::Watched, 2> watched{
        {{program.fd()}, {ending.server_failed ? -1 : server.fd()}}};
    CUCO_TRY(system::wait_for_any(watched, kPollInterval));
    CUCO_TRY_ASSIGN(auto outcome, program.wait(std::chrono::milliseconds(0)));
    if (outcome) {
      ending.program = *std::move(outcome);
      ending.server_failed |= server.has_left();
      return ending;
    }
    if (!ending.server_failed && watched[1].is_ready()) {
      CUCO_TRY_ASSIGN(const auto server_outcome, server.ended());
      ending.server_failed = server_outcome.has_value();
    }
    ending.interrupted = interrupted();
    if ((ending.server_failed || ending.interrupted) && !std::exchange(asked, true)) program.kill();
  }
}

}  // namespace cuco::targets
