// SPDX-License-Identifier: Apache-2.0
#include "dashboard/recorder.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "system/jobs/process.h"

namespace cuco::dashboard {
namespace {

constexpr auto kLongest = std::chrono::minutes(15);
constexpr auto kPause = std::chrono::milliseconds(200);
constexpr std::size_t kMostOutput = 64 * 1024;

/// The last line that says something, without the program's name.
std::string problem_of(const system::JobOutcome& outcome) {
  if (outcome.succeeded()) return {};
  constexpr std::string_view kName = "cuco: ";
  std::string_view said;
  for (const std::string_view line : split(outcome.err, '\n')) {
    if (!trim(line).empty()) said = trim(line);
  }
  if (said.starts_with(kName)) said.remove_prefix(kName.size());
  if (outcome.ending != system::Ending::Exited || said.empty())
    return "it " + system::describe(outcome);
  return std::string(said);
}

/// What became of it; empty: it was recorded.
Result<std::string> finish(const system::JobSpec& spec, const std::stop_token& stop) {
  CUCO_TRY_ASSIGN(system::Process process, system::Process::start(spec));
  for (;;) {
    CUCO_TRY_ASSIGN(const auto outcome, process.wait(kPause));
    if (outcome) return problem_of(*outcome);
    if (stop.stop_requested()) return std::string("the server was ended");
  }
}

}  // namespace

Recorder::Recorder(std::vector<std::string> command, const Clock& clock)
    : command_(std::move(command)), clock_(clock) {}

Recorder::~Recorder() = default;

Result<void> Recorder::start(std::string_view run, candidate::Number number) {
  const std::lock_guard lock(mutex_);
  if (running_) {
    if (run_ == run && number_ == number) return {};
    return Error{
        ErrorKind::Unavailable,
        fmt::format("#{} of run {} is being recorded; try again when it is done", number_, run_)};
  }
  run_ = run;
  number_ = number;
  problem_.clear();
  running_ = true;
  begin_ = clock_.now();
  std::vector<std::string> words = command_;
  words.insert(words.end(), {run_, "--record", std::to_string(number)});
  // The thread before it, if there is one, has nothing left to do.
  worker_ = std::jthread([this, words = std::move(words)](const std::stop_token& stop) mutable {
    work(stop, std::move(words));
  });
  return {};
}

void Recorder::work(const std::stop_token& stop, std::vector<std::string> words) {
  system::JobSpec spec;
  spec.command.argv = std::move(words);
  spec.command.environment = system::Environment::current();
  std::error_code code;
  spec.command.folder = std::filesystem::current_path(code);
  spec.limits.wall = kLongest;
  spec.limits.output = kMostOutput;
  auto ended = finish(spec, stop);
  const std::lock_guard lock(mutex_);
  problem_ = ended ? *std::move(ended) : ended.error().message();
  end_ = clock_.now();
  running_ = false;
}

Json Recorder::state() const {
  const std::lock_guard lock(mutex_);
  if (run_.empty()) return nullptr;
  const auto took = (running_ ? clock_.now() : end_) - begin_;
  return {{"run", run_},
          {"candidate", number_},
          {"state", running_           ? "running"
                    : problem_.empty() ? "done"
                                       : "failed"},
          {"seconds", std::chrono::duration<double>(took).count()},
          {"problem", problem_}};
}

}  // namespace cuco::dashboard
