// SPDX-License-Identifier: Apache-2.0
/// \file
/// The race detector's view of who acts.
#pragma once

#include <cstdint>

#include "check/race/race.h"

namespace cuco::check {

/// The actor of an access, with what was found out about others meanwhile.
struct RaceDetector::Me {
  ActorId actor;
  const Group& group;
  Live& live;
  unsigned warp;  ///< In its block.
  // Neighbouring cells mostly have the same writer: the last one found to be ordered.
  ActorId ordered_actor = kNoActor;
  std::uint32_t ordered_epoch = 0;
  ChainId ordered_chain = 0;
  std::uint64_t ordered_operation = 0;
  std::uint32_t lanes = 0;      ///< Of the access; 0: not known.
  bool reads_constant = false;  ///< Access::is_constant

  /// All of them, where it is not known which.
  [[nodiscard]] std::uint32_t acting_lanes() const { return lanes != 0 ? lanes : ~0U; }
  [[nodiscard]] std::uint32_t epoch() const {
    return group.order != nullptr ? group.order->epoch(warp) : live.epoch;
  }
};

}  // namespace cuco::check
