// SPDX-License-Identifier: Apache-2.0
// Lanes of a warp: what the release of one tells of the others, and where they race with each
// other.
#include <gtest/gtest.h>

#include "race_fixture.h"

namespace cuco::check {
namespace {

/// A warp with lanes, and somebody who waits for its flag and reads what its lanes wrote.
class LaneTest : public RaceTest {
 protected:
  LaneTest() {
    detector.access(warp, {AccessKind::Store, Order::Weak, Scope::Sys, kData, 128, 0, 0, 4});
  }
  void release(std::uint16_t lane, Address flag) {
    detector.access(warp, {AccessKind::Store, Order::Release, Scope::Sys, flag, 4, 0, lane});
  }
  void read_all(Address flag) {
    load(reader, flag, Order::Acquire);
    detector.access(reader, {AccessKind::Load, Order::Weak, Scope::Sys, kData, 128, 0, 0});
  }
  BlockOrder order;
  ActorId warp = detector.add_actors({1, 0, 1, 1}, 1, Clock::zero(), &order);
  ActorId reader = actor(2);
};

TEST_F(LaneTest, AReleaseCoversTheWritesOfItsLane) {
  release(3, kFlag);
  read_all(kFlag);
  EXPECT_EQ(races, 31);
}

TEST_F(LaneTest, AndOfThoseThatItHasMet) {
  detector.sync_lanes(warp, 0x0000000FU);
  release(3, kFlag);
  read_all(kFlag);
  EXPECT_EQ(races, 28);
}

TEST_F(LaneTest, AndOfAllOnceAllHaveMet) {
  detector.sync_lanes(warp);
  release(3, kFlag);
  read_all(kFlag);
  EXPECT_EQ(races, 0);
}

TEST_F(LaneTest, WhatIsWrittenAfterTheMeetingIsNotCovered) {
  detector.sync_lanes(warp);
  detector.access(warp, {AccessKind::Store, Order::Weak, Scope::Sys, kData + 32, 4, 0, 8});
  release(3, kFlag);
  read_all(kFlag);
  EXPECT_EQ(races, 1);
}

TEST_F(LaneTest, AllLanesFencesCountForOneFlagOnlyAfterTheyMet) {
  detector.fence(warp, Order::Sc, Scope::Sys, ~0U);
  detector.access(warp, {AccessKind::Store, Order::Relaxed, Scope::Sys, kFlag, 4, 0, 3});
  read_all(kFlag);
  EXPECT_EQ(races, 31);
  detector.sync_lanes(warp);
  detector.access(warp, {AccessKind::Store, Order::Relaxed, Scope::Sys, kFlag + 4, 4, 0, 3});
  read_all(kFlag + 4);
  EXPECT_EQ(races, 31);
}

TEST_F(LaneTest, ButFencesWithoutOneOrderOfAllAreOfTheirLanesAlone) {
  detector.fence(warp, Order::AcqRel, Scope::Sys, ~0U);
  detector.sync_lanes(warp);
  detector.access(warp, {AccessKind::Store, Order::Relaxed, Scope::Sys, kFlag, 4, 0, 3});
  read_all(kFlag);
  EXPECT_EQ(races, 31) << "a fence and a flag of one lane are a release of that lane";
}

// A descriptor, say: a plain store that a NIC finds.
TEST_F(LaneTest, APlainStoreTellsADeviceWhatItsLaneHasReleasedForTheSystem) {
  const Stamp data = detector.last_write(kData);
  const auto tells = [&](Address slot, std::uint16_t lane) {
    detector.access(warp, {AccessKind::Store, Order::Weak, Scope::Sys, slot, 4, 0, lane});
    return detector.is_known(detector.released_with(slot), data);
  };
  detector.sync_lanes(warp);
  EXPECT_FALSE(tells(kFlag, 0));
  detector.fence(warp, Order::AcqRel, Scope::Gpu, 1U << 0);
  EXPECT_FALSE(tells(kFlag + 4, 0));
  detector.fence(warp, Order::AcqRel, Scope::Sys, 1U << 3);
  EXPECT_FALSE(tells(kFlag + 8, 0)) << "the fence of another lane";
  EXPECT_TRUE(tells(kFlag + 12, 3));
}

/// Lanes of one warp, which touch a row one after the other.
class LanesOfOneWarpTest : public RaceTest {
 protected:
  /// A whole row: the first lane has the first word, or the last one has.
  void all(AccessKind kind, std::uint32_t site) {
    detector.access(warp, {kind, Order::Weak, Scope::Sys, kData, 128, site, 0, 4});
  }
  void all_turned(AccessKind kind, std::uint32_t site) {
    for (std::uint16_t lane = 0; lane < 32; ++lane)
      detector.access(warp,
                      {kind, Order::Weak, Scope::Sys, kData + 4 * (31U - lane), 4, site, lane});
  }
  BlockOrder order;
  ActorId warp = detector.add_actors({1, 0, 1, 1}, 1, Clock::zero(), &order);
};

TEST_F(LanesOfOneWarpTest, MayNotStoreWhatOthersMayStillRead) {
  all_turned(AccessKind::Load, 1);
  all(AccessKind::Store, 2);
  EXPECT_EQ(races, 32);
}

TEST_F(LanesOfOneWarpTest, MayOnceTheyHaveMet) {
  all_turned(AccessKind::Load, 1);
  detector.sync_lanes(warp);
  all(AccessKind::Store, 2);
  detector.sync_lanes(warp);
  all_turned(AccessKind::Store, 3);
  EXPECT_EQ(races, 0);
}

TEST_F(LanesOfOneWarpTest, MayStoreWhatTheyHaveReadAndStoredThemselves) {
  all_turned(AccessKind::Load, 1);
  all_turned(AccessKind::Store, 2);
  all_turned(AccessKind::Store, 3);
  EXPECT_EQ(races, 0);
}

TEST_F(LanesOfOneWarpTest, MayNotStoreOverEachOther) {
  all(AccessKind::Store, 1);
  all_turned(AccessKind::Store, 2);
  EXPECT_EQ(races, 32);
}

TEST_F(LanesOfOneWarpTest, MayNotClearAWordThatAllRead) {
  Access broadcast{AccessKind::Load, Order::Weak, Scope::Sys, kData, 4, 1, kManyLanes};
  broadcast.by_all_lanes = true;
  detector.access(warp, broadcast);
  detector.access(warp, {AccessKind::Store, Order::Weak, Scope::Sys, kData, 4, 2, 0});
  EXPECT_EQ(races, 1);
}

TEST_F(LanesOfOneWarpTest, ThatShareAWordAreNotDistinguishedInIt) {
  detector.access(warp, {AccessKind::Load, Order::Weak, Scope::Sys, kData, 64, 1, 0, 2});
  detector.access(warp, {AccessKind::Store, Order::Weak, Scope::Sys, kData + 2, 2, 2, 1});
  detector.access(warp, {AccessKind::Load, Order::Weak, Scope::Sys, kData, 64, 3, 0, 2});
  EXPECT_EQ(races, 0);
  detector.access(warp, {AccessKind::Store, Order::Weak, Scope::Sys, kData, 4, 4, 7});
  EXPECT_EQ(races, 2) << "over what lane 1 stored, and what lanes 0 and 1 read";
}

}  // namespace
}  // namespace cuco::check
