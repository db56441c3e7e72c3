// SPDX-License-Identifier: Apache-2.0
#include "llm/stoppable_job.h"

#include <algorithm>

namespace cuco::llm {
namespace {
constexpr auto kStep = std::chrono::milliseconds(200);
}

Error stopped_error() {
  return {ErrorKind::Unavailable, "stopped by the user"};
}

Result<system::JobOutcome> run_stoppable(const system::JobSpec& job, const Stopped& stopped) {
  if (!stopped) return system::run_job(job);
  CUCO_TRY_ASSIGN(system::Process process, system::Process::start(job));
  while (!stopped()) {
    CUCO_TRY_ASSIGN(auto outcome, process.wait(kStep));
    if (outcome) return *std::move(outcome);
  }
  return stopped_error();
}

Result<void> sleep_stoppable(Clock& clock, Nanoseconds duration, const Stopped& stopped) {
  const auto end = clock.now() + duration;
  while (clock.now() < end) {
    if (stopped && stopped()) return stopped_error();
    clock.sleep(stopped ? std::min<Nanoseconds>(kStep, end - clock.now()) : end - clock.now());
  }
  return {};
}

}  // namespace cuco::llm
