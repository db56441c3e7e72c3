// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where judged ranks run: GPUs that execute what they hand in, and a trusted process that owns the
/// memory and the clock. Abstract, so that trials know neither virtual nor real GPUs, and are
/// tested without either.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "check/finding/finding.h"
#include "measure/samples.h"
#include "shims/wire/messages_judge.h"
#include "shims/wire/view.h"
#include "system/jobs/job.h"

namespace cuco::targets {

/// One rank has done what it was commanded.
struct RankState {
  int rank = 0;
  std::uint32_t phase = 0;
  std::int32_t code = 0;
  std::int64_t time_ps = 0;
  std::uint64_t deliveries = 0;      ///< Between GPUs, of all ranks, since the last command.
  std::uint64_t copied_to_host = 0;  ///< Bytes, since the last command.
  // Of its longest kernel since the last command; see candidate::Filling.
  std::int64_t kernel_ps = 0;
  double blocks_per_sm = 0;
  double waves = 0;
  measure::Sample seen;  ///< Around the run, on a real GPU; without its time.
  std::string tail;
};

struct AllReported {
  std::vector<RankState> ranks;
};
struct Deadlocked {
  std::vector<std::string> waits;  ///< Who waits for what.
};
struct RanksDied {
  std::vector<std::string> who;
};
struct OutOfTime {
  std::optional<double> virtual_seconds;  ///< The limit, where it was one of virtual time.
};
/// The ranks' processes have used more processor time than they may.
struct HostBusy {
  std::chrono::nanoseconds used{};
};
using TargetEvent = std::variant<AllReported, Deadlocked, RanksDied, OutOfTime, HostBusy>;

/// How long to wait for the ranks.
struct Patience {
  /// On a machine that has nothing else to do: the time in which the target got no processor is not
  /// counted, so that a verdict does not depend on what runs beside it.
  std::chrono::milliseconds wall{};
  /// Processor time that the ranks' job may have used in all; polled while waiting, so that a host
  /// that computes for ever is not waited for.
  std::chrono::nanoseconds cpu = std::chrono::nanoseconds::max();
};

/// Nothing is waited for longer than so many times its limit, however busy the machine is.
constexpr int kMostStarvation = 10;

/// A rank that is held back, to see whether the others really wait for it.
struct Handicap {
  int rank = -1;
  std::int64_t ps = 0;
  std::int32_t slowdown = 1;
  /// Every delivery between GPUs comes so much later: whoever communicates and waits gets slower
  /// by at least this. See docs/guides/schedules.md.
  std::int64_t delivery_delay_ps = 0;
};

struct MemoryRange {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// The ranks' processes, which are the candidate's; each rank is a job of its own.
class Ranks {
 public:
  virtual ~Ranks() = default;
  /// Ends them all; wait() then gives the outcome.
  virtual void kill() = 0;
  /// Of all: of the first that failed, which takes the others along, if one did. Nothing if
  /// `timeout` passed first. After an outcome, call no more.
  [[nodiscard]] virtual Result<std::optional<system::JobOutcome>> wait(
      std::optional<std::chrono::milliseconds> timeout) = 0;
  /// Of each rank's processes so far.
  [[nodiscard]] virtual std::vector<std::chrono::nanoseconds> cpu_times() const = 0;
  [[nodiscard]] std::chrono::nanoseconds cpu_time() const {
    std::chrono::nanoseconds sum{};
    for (const std::chrono::nanoseconds one : cpu_times())
      sum += one;
    return sum;
  }
  /// Readable once one of them has ended.
  [[nodiscard]] virtual int fd() const = 0;
};

/// What the ranks' job needs in order to reach a target.
struct RankAccess {
  std::string libraries;  ///< As cuco-rank takes it: the folder of our libraries, or "-".
  system::Environment environment;
  std::vector<system::PassedFd> fds;
  std::vector<system::Path> read_only;  ///< For their sandbox.
  std::vector<system::Path> devices;
  std::optional<std::chrono::milliseconds> wall;  ///< Absent: as the workload's budget says.
};

class Target {
 public:
  virtual ~Target() = default;

  [[nodiscard]] virtual Result<RankAccess> rank_access() const = 0;
  /// Whether times are a real GPU's; otherwise they are predicted.
  [[nodiscard]] virtual bool is_measured() const = 0;

  /// Waits until all ranks have reported or nothing more will come; the end of their job is theirs.
  [[nodiscard]] virtual Result<TargetEvent> wait(const Ranks& ranks, const Patience& patience) = 0;
  /// Answers all ranks (or one); gives the time at which they go.
  [[nodiscard]] virtual Result<std::int64_t> command(std::uint32_t command,
                                                     std::int32_t argument,
                                                     wire::Bytes tail,
                                                     std::int32_t rank) = 0;
  [[nodiscard]] Result<std::int64_t> command_all(std::uint32_t command, wire::Bytes tail = {}) {
    return this->command(command, 0, tail, -1);
  }
  [[nodiscard]] virtual Result<std::int64_t> run_all(int set, const Handicap& handicap) = 0;
  /// Several iterations between one "go" and one "done", so that what a launch and the end of it
  /// cost does not hide a short kernel. Of a real GPU.
  [[nodiscard]] virtual Result<std::int64_t> run_batch(const std::vector<int>& sets) = 0;

  /// What to keep of a rank's memory at the moment it has done its work. Peers have no business in
  /// that memory, nor in what the rank is `given` besides, before it has entered and after its end.
  [[nodiscard]] virtual Result<void> order_snapshot(int rank,
                                                    const std::vector<MemoryRange>& ranges,
                                                    const std::vector<MemoryRange>& given,
                                                    const std::vector<MemoryRange>& closed) = 0;
  [[nodiscard]] virtual Result<std::string> read_snapshot(int rank,
                                                          std::size_t index,
                                                          std::size_t bytes) = 0;
  /// NotFound where the memory is no longer there: a rank has freed it.
  [[nodiscard]] virtual Result<void> write(std::uint64_t address, std::string_view bytes) = 0;
  [[nodiscard]] virtual Result<std::string> read(std::uint64_t address, std::size_t bytes) = 0;

  /// What has been done since forget_profile, if the target was asked to profile: see
  /// vcluster/run_report.h.
  [[nodiscard]] virtual Result<std::string> profile() = 0;
  [[nodiscard]] virtual Result<void> forget_profile() = 0;
  /// What the checker has found so far; nothing if the target was not asked to check.
  [[nodiscard]] virtual Result<std::vector<check::Finding>> findings() = 0;
};

}  // namespace cuco::targets
