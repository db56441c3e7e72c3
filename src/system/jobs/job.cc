// SPDX-License-Identifier: Apache-2.0
#include "system/jobs/job.h"

#include <array>
#include <cstring>

#include <fmt/format.h>

namespace cuco::system {

std::string_view name_of(Fence fence) {
  constexpr std::array<std::string_view, kFences> kNames{
      "pid namespace", "mount namespace", "network namespace", "ipc namespace", "unprivileged user",
      "seccomp",       "landlock",        "memory limit",      "process limit", "tree kill",
      "cpu limit",     "file size limit", "wall clock",        "output limit"};
  return kNames.at(static_cast<std::size_t>(fence));
}

std::string_view name_of(Ending ending) {
  constexpr std::array<std::string_view, 11> kNames{
      "exited",     "signalled",      "not started",   "timed out",
      "cpu limit",  "out of memory",  "process limit", "output limit",
      "file limit", "forbidden call", "cancelled"};
  return kNames.at(static_cast<std::size_t>(ending));
}

std::string describe(const JobOutcome& outcome) {
  std::string text;
  switch (outcome.ending) {
    case Ending::Exited:
      text = fmt::format("exited with {}", outcome.code);
      break;
    case Ending::Signalled: {
      const char* name = ::sigabbrev_np(outcome.code);
      text = name != nullptr ? fmt::format("killed by SIG{}", name)
                             : fmt::format("killed by signal {}", outcome.code);
      break;
    }
    default:
      text = name_of(outcome.ending);
  }
  if (!outcome.detail.empty()) text += ": " + outcome.detail;
  if (outcome.stragglers > 0) {
    text += fmt::format(", left {} process(es), now dead", outcome.stragglers);
  }
  if (outcome.caught_by) text += fmt::format(" (fence: {})", name_of(*outcome.caught_by));
  return text;
}

}  // namespace cuco::system
