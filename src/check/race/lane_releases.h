// SPDX-License-Identifier: Apache-2.0
/// \file
/// Epochs of a warp that end with the word of some of its lanes only.
///
/// An actor is a warp, but a release or a fence is a lane's: it speaks for what that lane has
/// written, and for others only if they have met since. Epochs that end otherwise (at a barrier, at
/// a __syncwarp(), with a release of the only lane that has written) are whole, and are not here.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/race/happens_before.h"

namespace cuco::check {

class LaneReleases {
 public:
  [[nodiscard]] bool empty() const { return epochs_.empty(); }
  [[nodiscard]] bool has(ActorId actor) const { return epochs_.contains(actor); }

  /// The epoch, later than all of this actor before, ended with the word of these lanes.
  void add(ActorId actor, std::uint32_t epoch, std::uint32_t lanes) {
    epochs_[actor].push_back({epoch, lanes});
  }
  /// More lanes vouched for the epoch.
  void allow(ActorId actor, std::uint32_t epoch, std::uint32_t lanes) {
    auto& list = epochs_[actor];
    const auto at = std::ranges::lower_bound(list, epoch, {}, &Ended::epoch);
    if (at != list.end() && at->epoch == epoch) at->lanes |= lanes;
  }
  /// Whoever knows the actor's epochs up to `known`, does it know nothing of what the lane did in
  /// `epoch`?
  [[nodiscard]] bool hold_back(ActorId actor,
                               unsigned lane,
                               std::uint32_t epoch,
                               std::uint32_t known) const {
    const auto found = epochs_.find(actor);
    if (found == epochs_.end()) return false;
    const auto& list = found->second;
    for (auto at = std::ranges::lower_bound(list, epoch, {}, &Ended::epoch); epoch <= known;
         ++epoch, ++at) {
      const bool is_whole = at == list.end() || at->epoch != epoch;
      if (is_whole || (at->lanes >> lane & 1U) != 0) return false;
    }
    return true;
  }

 private:
  struct Ended {
    std::uint32_t epoch = 0;
    std::uint32_t lanes = 0;
  };
  std::unordered_map<ActorId, std::vector<Ended>> epochs_;  ///< In order.
};

/// What the lanes of a running warp have done since they all met.
struct UnmetLanes {
  /// A fence, or a meeting of some lanes: a flag that one of `openers` raises later vouches for the
  /// writes of `given` up to there; 0: for its own.
  struct Open {
    std::uint32_t epoch = 0;
    std::uint32_t openers = 0;
    std::uint32_t given = 0;
    bool is_sequential = false;  ///< fence.sc: what others fenced before they meet counts as well.
  };

  std::uint32_t writers = 0;
  std::uint32_t learners = 0;  ///< Those that have acquired something…
  ClockPtr before;             ///< …and what all knew before.
  std::vector<Open> open;

  /// A release or fence of these lanes is one for all that was written.
  [[nodiscard]] bool are_spoken_for_by(std::uint32_t lanes) const {
    return writers == 0 || (std::has_single_bit(lanes) && (writers & ~lanes) == 0);
  }
  /// A later one of the same lanes says all that an earlier one said.
  void add(const Open& one) {
    for (Open& other : open) {
      if (other.openers != one.openers || other.given != one.given ||
          other.is_sequential != one.is_sequential) {
        continue;
      }
      other.epoch = one.epoch;
      return;
    }
    open.push_back(one);
  }
  void note_learners(std::uint32_t lanes, const ClockPtr& known) {
    if (learners == 0) before = known;
    learners |= lanes;
  }
};

}  // namespace cuco::check
