// SPDX-License-Identifier: Apache-2.0
/// \file
/// A virtual cluster of our own: the server process and the judge's connection to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "check/finding.h"
#include "measure/samples.h"
#include "shims/wire/frame_socket.h"
#include "shims/wire/messages_judge.h"
#include "system/jobs/process.h"

namespace cuco::targets {

struct ClusterSpec {
  bool real = false;      ///< This machine's own GPU, for one rank; the rest is for virtual ones.
  system::Path gpu;       ///< Hardware description.
  system::Path topology;  ///< Topology description.
  int ranks = 1;
  std::uint64_t seed = 0;
  std::uint64_t schedule_seed = 0;                 ///< 0: plain; others: adversarial.
  std::uint64_t memory = std::uint64_t{8} << 30U;  ///< That the server may use, devices' included.
  bool profile = false;                            ///< See VirtualCluster::profile.
  bool check = false;  ///< Watch every access; see VirtualCluster::findings. Many times slower.
};

/// One rank has done what it was told.
struct RankState {
  int rank = 0;
  std::uint32_t phase = 0;
  std::int32_t code = 0;
  std::int64_t time_ps = 0;
  std::uint64_t deliveries = 0;      ///< Between GPUs, of all ranks, since they were told to go on.
  std::uint64_t copied_to_host = 0;  ///< Bytes, since it was told to go on.
  measure::Sample seen;              ///< Around the run, on a real GPU; without its time.
  std::string tail;
};

struct AllReported {
  std::vector<RankState> ranks;
};
struct NothingMoves {
  std::vector<std::string> waits;
};
struct RanksDied {
  std::vector<std::string> who;
};
struct OutOfTime {};
/// The ranks' processes have used more processor time than they may.
struct HostBusy {
  std::chrono::nanoseconds used{};
};
using ClusterEvent = std::variant<AllReported, NothingMoves, RanksDied, OutOfTime, HostBusy>;

/// How long to wait for the ranks.
struct Patience {
  std::chrono::milliseconds wall{};
  /// Processor time that the ranks' job may have used in all; looked at while waiting, so that a
  /// host that computes for ever is not waited for.
  std::chrono::nanoseconds cpu = std::chrono::nanoseconds::max();
};

class VirtualCluster {
 public:
  [[nodiscard]] static Result<VirtualCluster> start(const ClusterSpec& spec);
  /// Whether this machine has a GPU that can be used, and if not, why.
  [[nodiscard]] static Result<void> probe_real();

  /// What the ranks' job needs to get here: descriptors, on a real GPU also its device files.
  [[nodiscard]] const std::vector<system::PassedFd>& rank_fds() const { return rank_fds_; }
  [[nodiscard]] static std::vector<system::Path> gpu_devices();
  [[nodiscard]] bool is_real() const { return !rank_fds_.empty(); }

  /// Where ranks connect. Its folder goes into their sandbox, read-only.
  [[nodiscard]] system::Path socket() const { return folder_.path() / "s"; }

  /// Waits until all ranks have reported or nothing more will come. `ranks`: their job; its end is
  /// theirs.
  [[nodiscard]] Result<ClusterEvent> wait(const system::Process& ranks, const Patience& patience);
  /// A rank that is held back, to see whether the others really wait for it.
  struct Late {
    int rank = -1;
    std::int64_t ps = 0;
    std::int32_t slowdown = 1;
    /// Every delivery between GPUs comes so much later: whoever communicates and waits gets slower
    /// by at least this. See docs/guides/schedules.md.
    std::int64_t delivery_delay_ps = 0;
  };
  /// Answers all ranks (or one); gives the virtual time at which they go.
  [[nodiscard]] Result<std::int64_t> command(std::uint32_t command,
                                             std::int32_t argument,
                                             wire::Bytes tail = {},
                                             std::int32_t rank = -1);
  [[nodiscard]] Result<std::int64_t> run_all(int set, Late late);
  /// What to keep of a rank's memory at the moment it has done its work.
  struct Range {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Result<void> order_snapshot(int rank, const std::vector<Range>& ranges);
  [[nodiscard]] Result<std::string> read_snapshot(int rank, std::size_t index, std::size_t bytes);
  /// What has been done since forget_profile, if the spec asked for it: see vcluster/run_report.h.
  [[nodiscard]] Result<std::string> profile();
  [[nodiscard]] Result<void> forget_profile();
  [[nodiscard]] Result<void> write(std::uint64_t address, std::string_view bytes);
  [[nodiscard]] Result<std::string> read(std::uint64_t address, std::size_t bytes);
  /// What the checker has found so far; nothing if the spec did not ask for checks.
  [[nodiscard]] Result<std::vector<check::Finding>> findings();
  [[nodiscard]] bool is_checked() const { return is_checked_; }

 private:
  VirtualCluster(system::TempFolder folder, system::Process server, wire::Fd control)
      : folder_(std::move(folder)), server_(std::move(server)), control_(std::move(control)) {}
  static Result<VirtualCluster> start_real();
  Result<std::int64_t> send_command(const wire::JudgeCommand& request, wire::Bytes tail);
  Result<std::string> read_all(wire::JudgeRead request, std::size_t bytes);
  /// Sends, and receives the answer.
  Result<wire::Frame> call(std::uint16_t type, wire::Bytes head, wire::Bytes tail);
  Result<wire::Frame> receive();
  /// What became of the server, told once.
  Result<system::JobOutcome> end_server();
  Error lost();

  system::TempFolder folder_;
  system::Process server_;
  wire::Fd control_;
  system::Fd rank_socket_;  ///< On a real GPU: what the rank gets.
  system::Fd bell_;
  std::vector<system::PassedFd> rank_fds_;
  bool is_checked_ = false;
  bool asked_ = false;  ///< A JudgeWait is on its way and not answered.
};

}  // namespace cuco::targets
