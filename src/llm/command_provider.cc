// SPDX-License-Identifier: Apache-2.0
#include "llm/command_provider.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"
#include "base/words.h"
#include "llm/http/credentials.h"
#include "llm/http/helper_result.h"
#include "llm/stoppable_job.h"
#include "system/os/environment.h"

namespace cuco::llm {
namespace {

constexpr std::size_t kShown = 400;

bool looks_secret(std::string_view name) {
  for (const std::string_view part : {"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

/// A bare environment with the variables that are named, and the secrets among them.
system::Environment environment_for(const CommandLine& command, std::vector<std::string>& secrets) {
  const auto ours = system::Environment::current();
  auto made = system::Environment::bare();
  for (const std::string& name : command.variables) {
    const auto value = ours.get(name);
    if (!value) continue;
    made.set(name, *value);
    if (looks_secret(name)) secrets.push_back(*value);
  }
  return made;
}

}  // namespace

std::string CommandProvider::model() const {
  return join_words(command_.words);
}

Result<Reply> CommandProvider::complete(const Request& request) {
  if (command_.words.empty()) {
    return Error{ErrorKind::InvalidInput,
                 "empty command: use --proposer 'command:PROGRAM ARGUMENT…', or set llm.command"};
  }
  system::JobSpec job;
  job.command.argv = command_.words;
  auto& program = job.command.argv.front();
  if (program.find('/') == std::string::npos) {
    const auto path = system::Environment::current().get("PATH").value_or("/usr/bin:/bin");
    CUCO_TRY_ASSIGN(const system::Path found, system::find_program(program, path));
    program = found.string();
  } else {
    program = std::filesystem::absolute(program).string();
  }
  std::vector<std::string> secrets;
  job.command.environment = environment_for(command_, secrets);
  const Scrubber scrub(std::move(secrets));
  job.command.folder = std::filesystem::current_path();
  job.command.input =
      request.system.empty() ? request.prompt : request.system + "\n\n" + request.prompt;
  job.limits.wall = request.deadline;
  job.limits.output = kMostAnswer;
  CUCO_TRY_ASSIGN(system::JobOutcome outcome, run_stoppable(job, request.stopped));
  const auto failed = [&](ErrorKind kind, std::string_view more = {}) {
    return Error{kind,
                 fmt::format("command '{}': {}: {}", model(), system::describe(outcome),
                             more.empty() ? scrub(std::string(trim(outcome.err).substr(0, kShown)))
                                          : std::string(more))};
  };
  if (outcome.ending == system::Ending::NotStarted) return failed(ErrorKind::NotFound);
  if (outcome.ending == system::Ending::TimedOut) return failed(ErrorKind::Timeout);
  if (!outcome.succeeded()) return failed(ErrorKind::Protocol);
  if (outcome.truncated) return failed(ErrorKind::Protocol, "the answer is longer than 4 MiB");
  return Reply{.text = scrub(std::move(outcome.out)),
               .seconds = std::chrono::duration<double>(outcome.wall).count()};
}

}  // namespace cuco::llm
