// SPDX-License-Identifier: Apache-2.0
/// \file
/// The virtual cluster: makes its parts, gives each handler those it works on, and decides what
/// happens next. server.h feeds it; nothing in it touches a socket, so that tests can drive it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "vcluster/calls/dispatch.h"
#include "vcluster/core/cluster_options.h"
#include "vcluster/core/ids.h"
#include "vcluster/core/judged_run.h"
#include "vcluster/core/operation.h"
#include "vcluster/core/timeline.h"
#include "vcluster/core/waits.h"
#include "vcluster/core/work.h"
#include "vcluster/device/allocations.h"
#include "vcluster/device/devices.h"
#include "vcluster/host/host_sync.h"
#include "vcluster/host/processes.h"
#include "vcluster/host/repeat_notice.h"
#include "vcluster/host/replies.h"
#include "vcluster/host/sessions.h"

namespace cuco::vcluster {

class NcclWorld;
class RunCheck;
class Watchers;
struct JudgeParts;

class Cluster {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> create(const ClusterOptions& options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// A connection: a host thread that has yet to say hello.
  Session& add_session(Session::Sink sink, std::uint32_t pid) {
    return sessions_.add(std::move(sink), pid);
  }
  void remove_session(Session& session);
  /// Delivers a request: serves it at once or leaves it pending.
  void deliver(Session& session, wire::Frame frame);

  /// Is a host thread running, so that the simulation has to wait for it?
  [[nodiscard]] bool must_wait() const;
  /// Does the one thing with the lowest time. False: nothing can happen.
  bool advance();
  /// Nothing can happen, because what would happen next is past the end of virtual time.
  [[nodiscard]] bool is_out_of_time() const { return out_of_time_; }
  /// Who waits for what.
  [[nodiscard]] std::vector<ClusterWait> waits() const;

  [[nodiscard]] const ClusterOptions& options() const { return options_; }
  [[nodiscard]] const Sessions& sessions() const { return sessions_; }
  [[nodiscard]] const Allocations& allocations() const { return *allocations_; }
  [[nodiscard]] const Watchers& watchers() const { return *watchers_; }
  [[nodiscard]] Processes& processes() { return processes_; }
  [[nodiscard]] RepeatNotice& repeat_notice() { return repeat_notice_; }
  /// Null: an ordinary run.
  [[nodiscard]] RunCheck* check() const { return check_.get(); }
  /// What a judge works on.
  [[nodiscard]] JudgeParts judge_parts();

 private:
  explicit Cluster(const ClusterOptions& options);
  Result<void> make_parts();
  void register_calls();
  void end_process(Process& process);
  static void warn_of_pending_work(const Process& process);
  void serve(Session& session, const Dispatcher::Entry& entry);
  /// What NCCL keeps at an address that a kernel waits for: "signal 0 of rank 1…".
  [[nodiscard]] std::optional<std::string> name_awaited(const vgpu::Wait& wait) const;

  const ClusterOptions options_;
  Timeline timeline_;
  WorkGraph works_{timeline_};
  Ids ids_;
  JudgedRun judged_run_;
  bool out_of_time_ = false;
  RepeatNotice repeat_notice_;
  Sessions sessions_{timeline_};
  Processes processes_{options_, works_};
  HostSync host_sync_{timeline_, works_, sessions_};
  Replies replies_{works_, sessions_};
  std::unique_ptr<Devices> devices_;
  std::unique_ptr<Watchers> watchers_;  ///< Observers of kernels.
  std::unique_ptr<RunCheck> check_;
  std::unique_ptr<Allocations> allocations_;
  std::unique_ptr<NcclWorld> nccl_;
  std::unique_ptr<Operations> operations_;
  Dispatcher dispatcher_;
};

}  // namespace cuco::vcluster
