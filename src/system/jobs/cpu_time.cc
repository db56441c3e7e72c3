// SPDX-License-Identifier: Apache-2.0
#include "system/jobs/cpu_time.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <time.h>

#include "base/text.h"
#include "system/os/files.h"

namespace cuco::system {
namespace {

template <typename T>
T number(std::string_view text) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void add_children(pid_t pid, std::vector<pid_t>& found) {
  const auto text = read_file(fmt::format("/proc/{0}/task/{0}/children", pid), 1U << 16U);
  if (!text) return;
  for (const std::string_view word : split(*text, ' ')) {
    if (const auto child = number<pid_t>(word); child > 0) found.push_back(child);
  }
}

/// By its own clock: nanoseconds, all threads.
std::chrono::nanoseconds of_process(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// Of children that it has waited for: cutime and cstime, in ticks.
std::chrono::nanoseconds of_reaped(pid_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid), 4096);
  const std::size_t close = stat ? stat->rfind(')') : std::string::npos;
  if (close == std::string::npos) return {};
  const auto fields = split(std::string_view(*stat).substr(close + 2), ' ');
  constexpr std::size_t kReapedUser = 13;  // field 16 of proc(5), counted from the state
  if (fields.size() <= kReapedUser + 1) return {};
  const auto ticks =
      number<std::int64_t>(fields[kReapedUser]) + number<std::int64_t>(fields[kReapedUser + 1]);
  return std::chrono::nanoseconds(ticks * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
}

/// The second number of schedstat: nanoseconds in a run queue.
std::chrono::nanoseconds in_queue(pid_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/schedstat", pid), 4096);
  if (!stat) return {};
  const auto fields = split(*stat, ' ');
  return fields.size() < 2 ? std::chrono::nanoseconds{}
                           : std::chrono::nanoseconds(number<std::int64_t>(fields[1]));
}

std::vector<pid_t> all_below(pid_t root) {
  std::vector<pid_t> processes;
  add_children(root, processes);
  for (std::size_t i = 0; i < processes.size(); ++i)
    add_children(processes[i], processes);
  return processes;
}

}  // namespace

std::chrono::nanoseconds cpu_time_below(pid_t root) {
  std::chrono::nanoseconds sum{};
  for (const pid_t pid : all_below(root))
    sum += of_process(pid) + of_reaped(pid);
  return sum;
}

std::chrono::nanoseconds starved_time_below(pid_t root) {
  std::chrono::nanoseconds most{};
  for (const pid_t pid : all_below(root))
    most = std::max(most, in_queue(pid));
  return most;
}

}  // namespace cuco::system
