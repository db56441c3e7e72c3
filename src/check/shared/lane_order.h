// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the lanes of a warp know of each other: phases, which __syncwarp() and barriers end.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>

#include "check/race/block_order.h"

namespace cuco::check {

class LaneOrder {
 public:
  static constexpr unsigned kLanes = 32;

  /// A new block begins.
  void reset() { warps_ = {}; }

  [[nodiscard]] std::uint32_t phase(unsigned warp) const { return warps_[warp].phase; }
  /// What was done in phases before it is known to all lanes of the warp.
  [[nodiscard]] std::uint32_t floor(unsigned warp) const { return warps_[warp].floor; }
  /// Does `lane` know what the warp's lane `earlier` did in that phase?
  [[nodiscard]] bool knows(unsigned warp,
                           unsigned lane,
                           unsigned earlier,
                           std::uint32_t phase) const {
    const Warp& all = warps_[warp];
    if (phase < all.floor || phase >= all.phase) return phase < all.floor;
    // Some met others. Where it is not known who did something, nobody is blamed.
    if (lane >= kLanes || earlier >= kLanes) return true;
    return phase < knowledge_[warp][lane][earlier];
  }

  /// All lanes met.
  void meet(unsigned warp) { warps_[warp].floor = ++warps_[warp].phase; }
  /// Some did: they know what any of them knew.
  void meet(unsigned warp, std::uint32_t lanes) {
    Warp& all = warps_[warp];
    if (knowledge_ == nullptr) knowledge_ = std::make_unique<Knowledge[]>(BlockOrder::kMaxWarps);
    Knowledge& knowledge = knowledge_[warp];
    if (all.phase == all.floor) knowledge = {};
    ++all.phase;
    std::array<std::uint32_t, kLanes> gathered{};
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      for (unsigned other = 0; other < kLanes; ++other)
        gathered[other] = std::max(gathered[other], knowledge[lane][other]);
      gathered[lane] = all.phase;
    }
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
      knowledge[static_cast<unsigned>(std::countr_zero(rest))] = gathered;
  }

 private:
  struct Warp {
    std::uint32_t phase = 0;
    std::uint32_t floor = 0;
  };
  /// By lane: the phases of each other lane before which it knows everything.
  using Knowledge = std::array<std::array<std::uint32_t, kLanes>, kLanes>;

  std::array<Warp, BlockOrder::kMaxWarps> warps_{};
  std::unique_ptr<Knowledge[]> knowledge_;  ///< Made when first needed, which is seldom.
};

}  // namespace cuco::check
