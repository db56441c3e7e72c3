// SPDX-License-Identifier: Apache-2.0
/// \file
/// Control groups of one job: memory and process limits (v1 or v2, whichever this machine has) and
/// v2's atomic kill.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "system/jobs/job.h"
#include "system/os/fd.h"
#include "system/os/files.h"

namespace cuco::system::jail {

/// Created before the job, removed after it. Each part may be absent.
class JobCgroups {
 public:
  /// Makes what the machine allows; limits of 0 make no group.
  JobCgroups(std::uint64_t memory, std::uint32_t processes);
  JobCgroups(const JobCgroups&) = delete;
  JobCgroups& operator=(const JobCgroups&) = delete;
  ~JobCgroups();

  /// "cgroup v1" or "cgroup v2"; empty where there is none, and then why.
  [[nodiscard]] const std::string& memory_by() const { return memory_by_; }
  [[nodiscard]] const std::string& processes_by() const { return processes_by_; }
  [[nodiscard]] bool can_kill() const { return !kill_file_.empty(); }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  /// Moves the calling process in; its children follow.
  [[nodiscard]] Result<void> enter() const;
  /// Kills all members at once, if this kernel can.
  void kill() const;
  /// Processes that the kernel killed because the memory limit was reached.
  [[nodiscard]] std::uint64_t oom_kills() const;
  /// Times that a fork was refused because of the process limit.
  [[nodiscard]] std::uint64_t refused_forks() const;
  [[nodiscard]] std::optional<std::uint64_t> peak_memory() const;

 private:
  void make_v1(std::uint64_t memory, std::uint32_t processes);
  void make_v2(std::uint64_t memory, std::uint32_t processes);
  std::optional<Path> make_group(const Path& parent);

  std::vector<Path> groups_;
  Path memory_group_;
  Path processes_group_;
  Fd memory_events_;
  Fd processes_events_;
  Path kill_file_;
  std::string memory_by_;
  std::string processes_by_;
  std::string why_not_ = "no writable cgroup";
};

}  // namespace cuco::system::jail
