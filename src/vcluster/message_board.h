// SPDX-License-Identifier: Apache-2.0
/// \file
/// Announcements between rank processes, served on arrival.
///
/// A rank that has found its partners makes the real MPI call, which needs them to make theirs;
/// none of them may be held up by the simulation then. So announcing and waiting do not wait for
/// their turn. That is safe because every announcement has its own name and carries its time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "vcluster/session.h"

namespace cuco::vcluster {

class Cluster;

class MessageBoard {
 public:
  explicit MessageBoard(Cluster& cluster) : cluster_(cluster) {}

  void post(std::uint64_t key, const Session& by);
  void wait(Session& session, std::uint64_t key);
  /// True: announced by `now`, and taken.
  void wait_any(Session& session, std::vector<std::uint64_t> keys);
  [[nodiscard]] bool test(std::uint64_t key, Session& session);

 private:
  /// Answers whoever waits for several, if one of them was announced by now.
  void resolve(std::uint32_t session);

  Cluster& cluster_;
  struct Posted {
    VTime when = 0;
    check::ClockPtr known;  ///< What the one who posted it knew.
  };
  std::map<std::uint64_t, Posted> posted_;
  std::map<std::uint64_t, std::uint32_t> waiters_;                   ///< Key to session.
  std::map<std::uint32_t, std::vector<std::uint64_t>> any_waiters_;  ///< Session to keys.
};

/// Registers the messages of messages_matching.h.
void register_message_calls(Cluster& cluster);

}  // namespace cuco::vcluster
