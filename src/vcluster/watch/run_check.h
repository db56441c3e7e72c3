// SPDX-License-Identifier: Apache-2.0
/// \file
/// A checked run: reports to the checker everything that happens outside of kernels.
///
/// The work graph carries knowledge along its edges (Work::known), host threads along theirs
/// (Session::known); here pieces of work become actors of the one happens-before relation.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "check/checker.h"
#include "shims/wire/messages_accesses.h"
#include "vcluster/core/operation.h"
#include "vcluster/core/waits.h"
#include "vcluster/core/work.h"

namespace cuco::vcluster {

class Devices;
class Processes;
class Session;
class Sessions;
struct Process;

class RunCheck {
 public:
  RunCheck(const Devices& devices,
           WorkGraph& works,
           const Sessions& sessions,
           const Processes& processes);

  check::Checker checker;

  /// What a thread of the host did to pinned and managed memory since it was last heard.
  void on_host_accesses(Session& session, std::span<const wire::HostAccess> accesses);
  /// The program has memory that the host shares with devices.
  void shares_memory(const char* what) { shared_.insert(what); }

  /// Where the program made the request that the session waits for.
  [[nodiscard]] std::shared_ptr<const check::Site> call_of(const Session& session);
  /// The rank that findings name: the process's, or the device's if one process has several.
  [[nodiscard]] int rank_of(const Process& process, std::int32_t device) const;

  void allocated(std::uint64_t address, std::uint64_t bytes, std::string what, int rank);
  /// Memory that counts as written: pinned, or the runtime's own.
  void allocated_written(std::uint64_t address, std::uint64_t bytes, std::string what, int rank);
  /// Variables of a module: exact bounds, and races, but never leaked.
  void on_program(const Process& process, const vgpu::Program& program, std::int32_t device);
  /// The program lets go of it: it is kept aside, and given back when much has come after it.
  /// The host takes a window or memory from those who might still put there.
  void given_back(std::uint64_t address, std::uint64_t bytes, int rank);
  /// The same by somebody who has waited since it called.
  void given_back(std::uint64_t address, std::uint64_t bytes, int rank, const HostView& by);
  void communicator_destroyed(std::uint64_t number, int rank);
  /// The judge's next command, which goes to all, comes after this.
  void depart(const check::ClockPtr& known) { departed_ = check::Clock::join(departed_, known); }
  /// `call` names a window or a device communicator that the rank does not have, or no more.
  void released_again(std::string_view call, int rank);
  /// The same of memory: `call` frees what was freed before. Nothing if it never was allocated.
  void freed_again(std::string_view call, std::uint64_t address);
  void freed(std::uint64_t address, const std::shared_ptr<const check::Site>& call);
  /// Memory that a stream makes or frees in its turn: whoever uses it must come after, or before.
  void on_stream_allocate(Work& work, const Context& context, const ClaimOperation& made);
  void on_stream_free(Work& work,
                      const Context& context,
                      const FreeOperation& free,
                      std::uint64_t bytes);

  /// A piece begins or goes on; from here until `end` it may act.
  check::WorkId act(Work& work, const std::string& what, int rank, std::int32_t device);
  /// It is done: Work::known is what is known after it.
  void end(Work& work);
  void start_grid(Work& work, const Context& context, const std::string& kernel, vgpu::GridId grid);
  void on_copy(Work& work, const Context& context, const CopyOperation& copy);
  /// A copy that was refused: says why, if it reaches beyond memory or into freed memory.
  void on_bad_copy(const wire::CopyEnd& end, std::uint64_t bytes, int rank);
  void on_fill(Work& work, const Context& context, const FillOperation& fill);
  void on_graph_node(const Work& node, const Work& begin);

  // NCCL: see nccl_exchange.cc and nccl_gin.cc.
  /// A ring's place: everything up to this operation of it is done.
  struct Place {
    check::ChainId chain = 0;
    std::uint64_t operation = 0;
  };
  [[nodiscard]] check::ChainId new_chain();
  check::WorkId begin_put(const check::WorkInfo& info, const check::PutRecord& put);
  /// The signal is raised, after this put's bytes and those of all before it.
  void raise(check::WorkId put,
             std::uint64_t signal,
             std::uint64_t added,
             std::uint64_t value,
             Place place);
  void end_put(check::WorkId put, std::uint64_t credit, std::uint64_t value, Place place);
  void on_bad_put(const check::Site& where, const std::string& why, int rank);
  void on_bad_collective(const std::string& why, int rank);

  /// A thread that was blocked out of sight may have been woken by anybody.
  void learn_from_all(Session& session) const;
  /// A thread ends: what it knew is kept for those who waited for it out of sight.
  void departed(const Session& session);

  /// A judge takes what the session's rank has made, knowing no more than the rank does.
  check::ClockPtr on_result_read(const Session& session,
                                 std::uint64_t address,
                                 std::uint64_t bytes);

  /// Nothing can go on.
  void on_deadlock(const std::vector<ClusterWait>& waits);

  [[nodiscard]] std::uint64_t canonical(std::uint64_t address) const;
  /// The process that allocated it is gone; if it ended as it should, this is a leak.
  void abandoned(std::uint64_t address, bool in_order);
  /// The end of the run: what is left over becomes findings.
  void finish();
  [[nodiscard]] std::string json() const;

 private:
  [[nodiscard]] std::shared_ptr<const check::Site> place(std::uint32_t pid,
                                                         std::uint64_t inner,
                                                         std::uint64_t outer);
  /// What some thread of the session's process may have told this one out of sight.
  [[nodiscard]] check::ClockPtr known_in_process(const Session& session) const;
  void tell_what_is_unwatched() const;
  void for_rows(const CopyOperation& copy,
                const wire::CopyEnd& end,
                const std::function<void(std::uint64_t, std::uint64_t)>& row) const;

  const Devices& devices_;
  WorkGraph& works_;
  const Sessions& sessions_;
  const Processes& processes_;
  std::unordered_map<const Work*, check::WorkId> running_;
  std::deque<vgpu::Memory::Allocation> set_aside_;  ///< Freed, and not to be used again soon.
  std::uint64_t set_aside_bytes_ = 0;
  std::set<std::string> shared_;      ///< Kinds of memory that the host shares.
  std::set<const Process*> watched_;  ///< Their host code says what it touches.
  check::ClockPtr departed_;
  /// Places of calls by process and address of the caller.
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>,
           std::shared_ptr<const check::Site>>
      calls_;
};

}  // namespace cuco::vcluster
