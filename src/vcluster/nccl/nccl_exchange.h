// SPDX-License-Identifier: Apache-2.0
/// \file
/// Host-driven collectives, sends and receives of one communicator: which rank's call belongs to
/// which, when they may start, how long they take.
///
/// A group of calls of one rank is one piece of work in its stream. Collectives match by their
/// number: the i-th of every rank belong together. Sends and receives match first come, first
/// served between two ranks. An exchange starts when all its parts have been reached in their
/// streams, takes the time that the fabric predicts, and then writes memory.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fabric/collective_cost.h"
#include "fabric/fabric.h"
#include "nccl_core/collective.h"
#include "vcluster/core/waits.h"
#include "vcluster/core/work.h"
#include "vcluster/nccl/nccl_clique.h"
#include "vgpu/memory/memory.h"

namespace cuco::vcluster {

class BlockTrace;
class RunCheck;
class WindowRegistry;
class WrittenTypes;

/// Of a collective; sends and receives have none.
[[nodiscard]] fabric::Pattern pattern_of(nccl_core::Kind kind);

/// One call of one rank, on its way.
struct ExchangePart {
  nccl_core::Call call;
  std::uint64_t scalar_address = 0;  ///< 0: the scalar is in the call.
  int rank = 0;
  VTime started = 0;      ///< When all whom it needs were there.
  bool is_ready = false;  ///< Its stream has reached it.
  bool is_done = false;
};

/// What an exchange needs of the rest of the server.
struct ExchangeServices {
  Timeline& timeline;
  WorkGraph& works;
  vgpu::Memory& memory;
  fabric::Fabric& fabric;
  /// Tells people what went wrong.
  std::function<void(const std::string&)> log;
  RunCheck* check = nullptr;      ///< Null: an ordinary run.
  WrittenTypes* types = nullptr;  ///< Null: nobody compares contents.
  BlockTrace* trace = nullptr;    ///< Null: nobody asks what is read and written.
  /// A kernel has SMs of a device to itself until then. Empty: nobody minds.
  std::function<void(int device, int sms, VTime until)> take_sms;
  const WindowRegistry* windows = nullptr;  ///< Null: none of the memory is registered.
};

class Exchange {
 public:
  Exchange(Clique& clique, ExchangeServices services)
      : clique_(clique), services_(std::move(services)) {}

  /// Takes one group of calls of `rank`, in the order they were made, checked by check_call.
  /// Returns the work to hand to the rank's stream; null and a problem when the calls contradict
  /// those of another rank, which breaks the communicator.
  struct Posted {
    WorkPtr work;
    nccl_core::Check problem;
  };
  /// The host is done with launching it at `launched_at`.
  Posted post(int rank, std::span<const ExchangePart> parts, VTime launched_at = 0);

  /// Checks a call's arguments and that its memory is the rank's to use.
  [[nodiscard]] nccl_core::Check check_call(int rank, const ExchangePart& part) const;

  /// Ends everything that is on its way, without moving data: abort, revoke, a dead rank.
  void break_up(nccl_core::Problem why);

  /// The rank's work that is not finished.
  [[nodiscard]] std::vector<WorkPtr> unfinished(int rank) const;
  /// Exchanges that cannot go on, and who is missing, one line each.
  [[nodiscard]] std::vector<WaitingCall> waits() const;

 private:
  /// The calls of one group: done when all parts are.
  struct Group {
    int rank = 0;
    std::vector<std::shared_ptr<ExchangePart>> parts;
    WorkPtr work;
    VTime launched_at = 0;
    bool is_started = false;
  };
  using PartPtr = std::shared_ptr<ExchangePart>;
  using GroupPtr = std::shared_ptr<Group>;
  struct Slot {
    PartPtr part;
    GroupPtr group;
  };
  /// The i-th collective: one slot per rank, empty until that rank has called.
  struct Round {
    std::uint64_t number = 0;
    std::vector<Slot> slots;
    bool is_running = false;
  };
  struct Channel {
    std::deque<Slot> sends, receives;
  };

  nccl_core::Check join_round(int rank, const Slot& slot);
  nccl_core::Check join_channel(int rank, const Slot& slot);
  void on_reached(const GroupPtr& group);
  void start_kernel(const GroupPtr& group);
  void try_start(Round& round);
  /// Does all its memory lie in windows, for NCCL's symmetric kernels?
  [[nodiscard]] bool is_symmetric(const Round& round) const;
  void finish_round(std::uint64_t number);
  void try_channel(int source, int destination);
  void finish_part(const Slot& slot);
  void note_type(const nccl_core::Range& written, const nccl_core::Call& call);
  /// Warns once of a group in which a send reads what a receive writes.
  void look_for_overlap(int rank, std::span<const ExchangePart> parts);
  /// Tells the checker what the rank's part read and wrote, and whom it comes after.
  void tell_check(const Slot& slot, const std::vector<check::ClockPtr>& after);
  void tell_trace(const Slot& slot);

  Clique& clique_;
  ExchangeServices services_;
  std::map<std::uint64_t, Round> rounds_;
  std::map<int, std::uint64_t> next_round_;
  std::map<std::pair<int, int>, Channel> channels_;  ///< By source and destination.
  std::vector<GroupPtr> groups_;
  bool has_warned_of_overlap_ = false;
};

}  // namespace cuco::vcluster
