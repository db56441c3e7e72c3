// SPDX-License-Identifier: Apache-2.0
/// \file
/// Waiting between host threads, in virtual time: sleeps, semaphores, rendezvous.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "vcluster/core/work.h"
#include "vcluster/host/sessions.h"

namespace cuco::vcluster {

class HostSync {
 public:
  HostSync(Timeline& timeline, const WorkGraph& works, const Sessions& sessions)
      : timeline_(timeline), works_(works), sessions_(sessions) {}

  /// A name: the process's index, or kEverybody, and the program's key.
  using Name = std::pair<std::uint32_t, std::uint64_t>;
  static constexpr std::uint32_t kEverybody = ~0U;

  void sleep(Session& session, VTime duration);
  /// For `count` waiters with tickets up to `last_ticket`.
  void post(const Name& name, std::uint32_t count, std::uint64_t last_ticket);
  /// Takes one or parks; gives up after `timeout` (negative: never).
  void wait(
      Session& session, const Name& name, std::uint64_t ticket, VTime timeout, wire::HostWait kind);
  void meet(Session& session, const Name& name, std::uint32_t count, wire::HostWait kind);

 private:
  struct Waiter {
    std::uint32_t session = 0;
    std::uint64_t ticket = 0;
    std::uint64_t turn = 0;  ///< Tells this wait from all others.
  };
  struct Semaphore {
    std::map<std::uint64_t, std::uint64_t> counts;  ///< By the last ticket that they are for.
    check::ClockPtr known;                          ///< What those who posted knew.
    std::deque<Waiter> waiters;
  };
  void give_up(const Name& name, std::uint64_t turn);
  /// Drops an idle semaphore: names are made up by programs without end.
  void tidy(const Name& name);

  Timeline& timeline_;
  const WorkGraph& works_;
  const Sessions& sessions_;
  std::map<Name, Semaphore> semaphores_;
  std::map<Name, std::vector<std::uint32_t>> meetings_;
  std::uint64_t next_turn_ = 0;
};

}  // namespace cuco::vcluster
