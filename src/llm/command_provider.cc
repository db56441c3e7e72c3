// SPDX-License-Identifier: Apache-2.0
#include "llm/command_provider.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"
#include "system/jobs/process.h"
#include "system/os/environment.h"

namespace cuco::llm {
namespace {
constexpr std::size_t kMaxAnswer = std::size_t{8} << 20U;
constexpr std::size_t kShown = 400;
}  // namespace

Result<Reply> CommandProvider::complete(const Request& request) {
  system::JobSpec job;
  for (const auto word : split(command_, ' ')) {
    if (!word.empty()) job.command.argv.emplace_back(word);
  }
  if (job.command.argv.empty())
    return Error{ErrorKind::InvalidInput, "empty command: use --proposer command:PROGRAM"};
  auto& program = job.command.argv.front();
  if (program.find('/') == std::string::npos) {
    const auto path = system::Environment::current().get("PATH").value_or("/usr/bin:/bin");
    CUCO_TRY_ASSIGN(const system::Path found, system::find_program(program, path));
    program = found.string();
  } else {
    program = std::filesystem::absolute(program).string();
  }
  // A proposer must not see keys or other settings of this process.
  job.command.environment = system::Environment::bare();
  job.command.folder = std::filesystem::current_path();
  job.command.input =
      request.system.empty() ? request.prompt : request.system + "\n\n" + request.prompt;
  job.limits.wall = request.deadline;
  job.limits.output = kMaxAnswer;
  CUCO_TRY_ASSIGN(system::JobOutcome outcome, system::run_job(job));
  const auto failed = [&](ErrorKind kind) {
    return Error{kind, fmt::format("command '{}': {}: {}", command_, system::describe(outcome),
                                   trim(outcome.err.substr(0, kShown)))};
  };
  if (outcome.ending == system::Ending::NotStarted) return failed(ErrorKind::NotFound);
  if (outcome.ending == system::Ending::TimedOut) return failed(ErrorKind::Timeout);
  if (!outcome.succeeded()) return failed(ErrorKind::Protocol);
  return Reply{.text = std::move(outcome.out),
               .seconds = std::chrono::duration<double>(outcome.wall).count()};
}

}  // namespace cuco::llm
