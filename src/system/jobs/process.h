// SPDX-License-Identifier: Apache-2.0
/// \file
/// Running jobs. Each has a keeper process (cuco-jail) of its own that builds the fences, watches
/// limits, collects output, and ends the job's whole tree: at the end, on request, and when we die.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <vector>

#include "base/result.h"
#include "system/jobs/cpu_time.h"
#include "system/jobs/job.h"
#include "system/os/fd.h"

namespace cuco::system {

/// A running job. Destruction ends it and all its descendants, and waits for that.
class Process {
 public:
  [[nodiscard]] static Result<Process> start(const JobSpec& spec);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  /// Waits for the outcome; nothing if `timeout` passed first. After an outcome, call no more.
  [[nodiscard]] Result<std::optional<JobOutcome>> wait(
      std::optional<std::chrono::milliseconds> timeout = std::nullopt);

  /// Asks for the end of the whole tree; wait() then gives the outcome (Cancelled).
  void kill();

  /// Processor time of the job so far, all its processes.
  [[nodiscard]] std::chrono::nanoseconds cpu_time() const { return cpu_time_below(keeper_); }
  /// How long it has been ready to run and got no processor: the process that waited most.
  [[nodiscard]] std::chrono::nanoseconds starved_time() const {
    return starved_time_below(keeper_);
  }

  /// Readable once wait() would not block: for use in a poll loop.
  [[nodiscard]] int fd() const { return control_.get(); }

 private:
  Process(Fd control, pid_t keeper) : control_(std::move(control)), keeper_(keeper) {}
  void reap();

  Fd control_;
  pid_t keeper_ = -1;
};

/// Starts, waits, returns. The outcome is data; an Error means that we could not even try.
[[nodiscard]] Result<JobOutcome> run_job(const JobSpec& spec);

/// Replaces this program by another, which gets the arguments; returns only why it could not.
[[nodiscard]] Error become(const Path& program, std::vector<std::string> arguments);

/// What one fence is worth on this machine.
struct FenceReport {
  Fence fence;
  bool works = false;
  std::string how;  ///< By what means, or why not.
};

/// Tries every fence, one by one.
[[nodiscard]] Result<std::vector<FenceReport>> probe_fences();

}  // namespace cuco::system
