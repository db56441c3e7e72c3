// SPDX-License-Identifier: Apache-2.0
#include "loopback/window_places.h"

#include <set>

#include <gtest/gtest.h>

namespace cuco::loopback {
namespace {

constexpr std::uint64_t kStride = std::uint64_t{4} << 30U;

TEST(WindowPlaces, ATeamLiesSideBySide) {
  const WindowPlaces places{.ranks = 8, .team = 4, .stride = kStride};
  for (int first : {0, 4}) {
    for (int peer = 0; peer < 4; ++peer)
      EXPECT_EQ(places.of(first + peer),
                places.of(first) + static_cast<std::uint64_t>(peer) * kStride);
  }
}

TEST(WindowPlaces, WhoReachesForAnotherTeamMeetsAGap) {
  for (const int team : {1, 2, 4}) {
    const WindowPlaces places{.ranks = 8, .team = team, .stride = kStride};
    std::set<std::uint64_t> taken;
    for (int rank = 0; rank < 8; ++rank) {
      EXPECT_TRUE(taken.insert(places.of(rank)).second);
      EXPECT_LE(places.of(rank) + kStride, places.bytes());
    }
    // By numbers that peers of the world have, but not of the team.
    for (int first = 0; first < 8; first += team) {
      for (int peer = team; peer < 8; ++peer) {
        const std::uint64_t reached = places.of(first) + static_cast<std::uint64_t>(peer) * kStride;
        EXPECT_FALSE(taken.contains(reached)) << "team of " << team << ", peer " << peer;
        EXPECT_LE(reached + kStride, places.bytes());
      }
    }
  }
}

}  // namespace
}  // namespace cuco::loopback
