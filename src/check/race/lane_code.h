// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which lanes of a warp make an access.
#pragma once

#include <cstdint>

#include "check/race/race.h"

namespace cuco::check {

inline constexpr unsigned kLanes = 32;
inline constexpr std::uint32_t kAllLanes = ~0U;

/// Which lane had which word, the same for all words of an access, so that neighbours have equal
/// stamps: 3 bits say how many words a lane has (1, 2 or 4; 3: all are one lane's), or how many
/// lanes a word has (5: two, 6: four; the first of them counts), the others hold the place, in
/// units of what a lane or a word has, at which lane 0 would begin, or the lane.
struct LaneCode {
  static constexpr unsigned kOneLane = 3;
  static constexpr unsigned kShared = 4;
  static constexpr unsigned kShift = 13;
  static constexpr std::uint64_t kMask = (1U << kShift) - 1;

  static std::uint16_t of(const Access& access) {
    const std::uint32_t bytes = access.lane_bytes;
    if (access.by_all_lanes) return code(kOneLane, kEveryLane);
    if (bytes == 0 || bytes == access.bytes) return code(kOneLane, access.lane);
    if (bytes == 4 || bytes == 8 || bytes == 16) {
      const unsigned size = bytes == 4 ? 0 : bytes == 8 ? 1 : 2;
      return code(size, access.address / 4 - (std::uint64_t{access.lane} << size));
    }
    if (bytes > 2 || access.address % 4 != 0) return code(kOneLane, kManyLanes);
    return code(kShared + (bytes == 2 ? 1 : 2), access.address / bytes - access.lane);
  }
  static std::uint16_t lane(std::uint16_t code, Address word) {
    const unsigned size = code >> kShift;
    if (size == kOneLane) return (code & kMask) == kEveryLane ? kManyLanes : code & kMask;
    if (size > kShared)
      return static_cast<std::uint16_t>(((word >> (size == kShared + 1 ? 1 : 0)) - code) & kMask);
    return static_cast<std::uint16_t>(((word / 4 - code) & kMask) >> size);
  }

  [[nodiscard]] static bool is_known(std::uint16_t code, Address word) {
    return lane(code, word) < kLanes;
  }
  /// All lanes made the access.
  [[nodiscard]] static bool is_every(std::uint16_t code) {
    return code == LaneCode::code(kOneLane, kEveryLane);
  }
  /// It is known of both whose they are, and no lane has to do with both.
  [[nodiscard]] static bool are_apart(std::uint16_t a, std::uint16_t b, Address word) {
    if (!is_known(a, word) || !is_known(b, word)) return false;
    const unsigned first = lane(a, word);
    const unsigned other = lane(b, word);
    return first + sharers_of(a) <= other || other + sharers_of(b) <= first;
  }

 private:
  static constexpr std::uint64_t kEveryLane = 0xFE;

  /// Lanes that share a word.
  static unsigned sharers_of(std::uint16_t code) {
    const unsigned size = code >> kShift;
    return size <= kShared ? 1 : size == kShared + 1 ? 2 : 4;
  }
  static std::uint16_t code(unsigned size, std::uint64_t rest) {
    return static_cast<std::uint16_t>(size << kShift | (rest & kMask));
  }
};

/// Those that make the access; none, if it is not known.
[[nodiscard]] inline std::uint32_t lanes_of(const Access& access) {
  if (access.by_all_lanes) return kAllLanes;
  if (access.lane >= kLanes) return 0;
  const std::uint64_t count =
      access.lane_bytes == 0 ? 1 : (access.bytes + access.lane_bytes - 1) / access.lane_bytes;
  const std::uint64_t mask = count >= kLanes ? kAllLanes : (std::uint64_t{1} << count) - 1;
  return static_cast<std::uint32_t>(mask << access.lane);
}

}  // namespace cuco::check
