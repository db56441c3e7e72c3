// SPDX-License-Identifier: Apache-2.0
/// \file
/// What single lanes of a warp have fenced, or have seen and not fenced yet.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "check/race/happens_before.h"

namespace cuco::check {

class LaneClocks {
 public:
  [[nodiscard]] bool empty() const { return parts_.empty(); }

  /// The lanes have this from here on, and nothing else.
  void set(std::uint32_t lanes, const ClockPtr& clock) {
    (void)take(lanes);
    parts_.push_back({lanes, clock});
  }
  /// The lanes have this, too.
  void add(std::uint32_t lanes, const ClockPtr& clock) {
    if (!clock) return;
    for (Part& part : parts_) {
      if (part.lanes != lanes) continue;
      part.clock = Clock::join(part.clock, clock);
      return;
    }
    parts_.push_back({lanes, clock});
  }
  /// What any of the lanes has.
  [[nodiscard]] ClockPtr of(std::uint32_t lanes) const {
    ClockPtr all;
    for (const Part& part : parts_) {
      if ((part.lanes & lanes) != 0) all = Clock::join(all, part.clock);
    }
    return all;
  }
  /// The same, and they have it no more.
  ClockPtr take(std::uint32_t lanes) {
    ClockPtr all = of(lanes);
    std::erase_if(parts_, [&](Part& part) { return (part.lanes &= ~lanes) == 0; });
    return all;
  }

 private:
  struct Part {
    std::uint32_t lanes = 0;
    ClockPtr clock;
  };
  std::vector<Part> parts_;  ///< Few: lanes mostly fence together, or one does.
};

}  // namespace cuco::check
