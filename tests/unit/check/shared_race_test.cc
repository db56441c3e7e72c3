// SPDX-License-Identifier: Apache-2.0
#include "check/shared/shared_race.h"

#include <optional>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace cuco::check {
namespace {

class SharedRaceTest : public ::testing::Test {
 protected:
  void read(unsigned warp, std::uint32_t word, unsigned lane = 0) {
    races.read({.warp = warp, .first = word, .site = 10 + warp, .lane = lane}, report);
  }
  void write(unsigned warp, std::uint32_t word, std::uint8_t mask = 0xF) {
    races.write({.warp = warp, .first = word, .site = 20 + warp, .mask = mask}, report);
  }
  void meet(std::uint32_t warps) {
    for (unsigned warp = 0; warp < 4; ++warp) {
      if ((warps >> warp & 1U) != 0) order.arrive(warp, 0);
    }
    for (unsigned warp = 0; warp < 4; ++warp) {
      if ((warps >> warp & 1U) != 0) order.leave(warp, 0);
    }
  }
  void SetUp() override { races.reset(4096, 4); }
  void atomic(unsigned warp, std::uint32_t word) { races.atomic(warp, word, 30 + warp, report); }
  std::optional<SharedRaces::Conflict> last;
  int count = 0;
  bool may_be_harmless = false;
  SharedRaces::Report report = [this](const SharedRaces::Conflict& c) {
    last = c;
    ++count;
    return !may_be_harmless;
  };
  BlockOrder order;
  SharedRaces races{order};
};

TEST_F(SharedRaceTest, WhatMayBeHarmlessHidesNothing) {
  races.write({.warp = 0, .first = 0, .count = 32, .site = 20}, report);
  races.write({.warp = 1, .first = 0, .count = 32, .site = 20}, report);
  EXPECT_EQ(count, 1);
  may_be_harmless = true;
  races.write({.warp = 0, .first = 0, .count = 32, .site = 20}, report);
  EXPECT_EQ(count, 33);
}

TEST_F(SharedRaceTest, ReadOfAnotherWarpsWriteNeedsABarrier) {
  write(0, 5);
  read(1, 5);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(last->offset, 20U);
  EXPECT_EQ(last->earlier_warp, 0U);
  EXPECT_EQ(last->earlier_site, 20U);
}

TEST_F(SharedRaceTest, ABoolAloneIsChecked) {
  races.reset(1, 4);
  races.write({.warp = 0, .first = 0, .site = 20, .mask = 1}, report);
  races.read({.warp = 1, .first = 0, .site = 11, .mask = 1}, report);
  EXPECT_EQ(count, 1);
}

TEST_F(SharedRaceTest, WhoReadsInAnEpochOfItsOwnDoesNotSpeakForOthers) {
  // Warps 0 and 1 read, and warp 1, which has gone through more epochs, tells warp 2 so.
  for (const bool whole : {false, true}) {
    count = 0;
    order.reset();
    races.reset(4096, 4);
    const auto touch = [&](unsigned warp, bool writes) {
      const SharedRaces::Access access{
          .warp = warp, .first = whole ? 32U : 5U, .count = whole ? 32U : 1U, .site = 40 + warp};
      writes ? races.write(access, report) : races.read(access, report);
    };
    touch(2, true);
    meet(0xF);
    (void)order.publish(1);
    touch(0, false);
    touch(1, false);
    order.learn(2, order.publish(1));
    touch(2, true);
    ASSERT_EQ(count, 1) << whole;
    EXPECT_EQ(last->earlier_warp, 0U);
    meet(0xF);
    touch(2, true);
    touch(2, true);
    EXPECT_EQ(count, 1) << whole;
  }
}

TEST_F(SharedRaceTest, BytesOfAWordThatTakeTurnsAreKeptApart) {
  order.reset();
  races.reset(4096, 4);
  const auto touch = [&](unsigned warp, unsigned byte, bool writes) {
    const SharedRaces::Access access{.warp = warp,
                                     .first = 5,
                                     .count = 1,
                                     .site = 40 + warp,
                                     .mask = static_cast<std::uint8_t>(1U << byte)};
    writes ? races.write(access, report) : races.read(access, report);
  };
  // bool ends[2]: what a round wrote is read while the next one writes the other.
  touch(0, 0, true);
  meet(0xF);
  for (unsigned round = 0; round < 4; ++round) {
    (void)order.publish(1);  // no longer in step with the others
    touch(1, round % 2, false);
    touch(2, round % 2, false);
    touch(0, 1 - round % 2, true);
    touch(3, round % 2, false);
    meet(0xF);
  }
  EXPECT_EQ(count, 0);
  (void)order.publish(1);
  touch(1, 0, false);
  touch(2, 0, false);
  touch(0, 0, true);
  EXPECT_EQ(count, 1);
}

TEST_F(SharedRaceTest, LanesThatStoreOverEachOtherMeetFirst) {
  const auto row = [&](unsigned lane, std::uint32_t site) {
    // Not from a row's beginning: word by word.
    for (const std::uint32_t first : {0U, 36U})
      races.write({.warp = 0, .first = first, .count = 16, .site = site, .lane = lane}, report);
  };
  row(0, 20);
  row(0, 21);
  EXPECT_EQ(count, 0) << "each lane its own";
  row(1, 22);
  EXPECT_EQ(count, 2);
  EXPECT_TRUE(last->earlier_writes && last->later_writes);
  races.sync_lanes(0);
  row(2, 23);
  EXPECT_EQ(count, 2);
}

TEST_F(SharedRaceTest, RowsThatLanesStoreOverAreSeen) {
  races.write({.warp = 0, .first = 0, .count = 32, .site = 20}, report);
  races.write({.warp = 0, .first = 0, .count = 32, .site = 21}, report);
  EXPECT_EQ(count, 0);
  races.write({.warp = 0, .first = 0, .count = 32, .site = 22, .lane_words = 2}, report);
  EXPECT_EQ(count, 1);
}

TEST_F(SharedRaceTest, ABarrierOrdersBothDirections) {
  write(0, 5);
  meet(0xF);
  read(1, 5);
  read(2, 5);
  meet(0xF);
  write(3, 5);
  EXPECT_EQ(count, 0);
}

TEST_F(SharedRaceTest, AMatrixIsOfAllLanesAndOfNoneInParticular) {
  const SharedRaces::Access stored{.warp = 0, .first = 64, .count = 32, .site = 40, .matrix = true};
  const SharedRaces::Access loaded{.warp = 0, .first = 64, .count = 32, .site = 50, .matrix = true};
  races.write(stored, report);
  read(0, 70, 6);
  ASSERT_EQ(count, 1) << "lane 6 reads what any lane may have stored";
  EXPECT_EQ(last->kind, SharedRaces::Conflict::Kind::Lanes);
  EXPECT_EQ(last->earlier_lane, SharedRaces::kMatrix);
  races.read(loaded, report);
  EXPECT_EQ(count, 2);
  races.sync_lanes(0);
  read(0, 70, 6);
  races.read(loaded, report);
  EXPECT_EQ(count, 2);
  races.sync_lanes(0);
  write(0, 80);
  races.read(loaded, report);
  EXPECT_EQ(count, 3) << "any lane may read what lane 0 stored";
}

TEST_F(SharedRaceTest, TheSecondBarrierOfATileLoopIsNeeded) {
  write(0, 5);
  meet(0xF);
  read(1, 5);
  write(0, 5);
  ASSERT_EQ(count, 1);
  EXPECT_FALSE(last->earlier_writes);
  EXPECT_EQ(last->earlier_warp, 1U);
}

TEST_F(SharedRaceTest, APartialBarrierOrdersOnlyThoseWhoMet) {
  write(0, 5);
  meet(0b0011);
  read(1, 5);
  EXPECT_EQ(count, 0);
  read(2, 5);
  EXPECT_EQ(count, 1);
}

TEST_F(SharedRaceTest, KnowledgeIsPassedOn) {
  write(0, 5);
  meet(0b0011);
  meet(0b0110);
  read(2, 5);
  EXPECT_EQ(count, 0);
}

TEST_F(SharedRaceTest, AtomicsDoNotRaceWithEachOther) {
  write(0, 7);
  meet(0xF);
  atomic(0, 7);
  atomic(1, 7);
  EXPECT_EQ(count, 0);
  read(2, 7);
  EXPECT_EQ(count, 1);
}

TEST_F(SharedRaceTest, OneWarpIsOrderedWithItself) {
  write(0, 5);
  read(0, 5);
  write(0, 5);
  EXPECT_EQ(count, 0);
}

TEST_F(SharedRaceTest, WordsReadBeforeAnybodyWroteThemAreUnwritten) {
  read(0, 5);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(last->kind, SharedRaces::Conflict::Kind::Unwritten);
}

TEST_F(SharedRaceTest, WhatTheLastBlockLeftIsUnwrittenToo) {
  write(0, 5);
  order.reset();
  races.reset(4096, 4);
  read(0, 5);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(last->kind, SharedRaces::Conflict::Kind::Unwritten);
}

TEST_F(SharedRaceTest, LanesOfAWarpNeedASyncOfTheirOwn) {
  write(0, 5);
  read(0, 5, 3);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(last->kind, SharedRaces::Conflict::Kind::Lanes);
  races.sync_lanes(0);
  read(0, 5, 3);
  EXPECT_EQ(count, 1);
}

TEST_F(SharedRaceTest, ALaneMayNotWriteWhatAnotherMayStillBeReading) {
  write(0, 5);
  races.sync_lanes(0);
  read(0, 5, 3);
  write(0, 5);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(last->kind, SharedRaces::Conflict::Kind::Lanes);
  EXPECT_EQ(last->earlier_lane, 3U);
  EXPECT_EQ(last->earlier_site, 10U);
  EXPECT_FALSE(last->earlier_writes);
}

TEST_F(SharedRaceTest, ALaneMayWriteWhatItHasReadItself) {
  write(0, 5);
  races.sync_lanes(0);
  read(0, 5);
  write(0, 5);
  EXPECT_EQ(count, 0);
  races.sync_lanes(0);
  read(0, 5, 3);
  races.sync_lanes(0);
  write(0, 5);
  EXPECT_EQ(count, 0) << "or what others have read before a __syncwarp()";
}

TEST_F(SharedRaceTest, NobodyMayWriteWhatSeveralRead) {
  write(0, 5);
  races.sync_lanes(0);
  read(0, 5, 0);
  read(0, 5, 1);
  write(0, 5);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(last->earlier_lane, SharedRaces::kSeveral);
  races.sync_lanes(0);
  const SharedRaces::Access broadcast{.warp = 0, .first = 5, .site = 50, .lane_words = 0};
  races.read(broadcast, report);
  write(0, 5);
  EXPECT_EQ(count, 2);
  races.read(broadcast, report);
  EXPECT_EQ(count, 3) << "all lanes read what lane 0 has just written";
}

TEST_F(SharedRaceTest, LanesThatReadDifferentBytesMayWriteThem) {
  write(0, 5);
  races.sync_lanes(0);
  const auto touch = [&](unsigned lane, std::uint8_t mask, bool writes) {
    const SharedRaces::Access access{
        .warp = 0, .first = 5, .site = 50 + lane, .lane = lane, .mask = mask};
    writes ? races.write(access, report) : races.read(access, report);
  };
  touch(0, 0b0011, false);
  touch(1, 0b1100, false);
  touch(0, 0b0011, true);
  touch(1, 0b1100, true);
  EXPECT_EQ(count, 0);
}

TEST_F(SharedRaceTest, AMatrixMayNotBeStoredWhereLanesStillRead) {
  const SharedRaces::Access matrix{.warp = 0, .first = 64, .count = 32, .site = 40, .matrix = true};
  races.write(matrix, report);
  races.sync_lanes(0);
  read(0, 70, 6);
  races.write(matrix, report);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(last->earlier_lane, 6U);
  races.sync_lanes(0);
  races.read(matrix, report);
  write(0, 70);
  EXPECT_EQ(count, 2) << "nor a word of it, which any lane may have loaded";
}

TEST_F(SharedRaceTest, ARowReadByItsLanesMayBeWrittenByThem) {
  const auto row = [&](unsigned lane_words, bool writes) {
    const SharedRaces::Access access{.warp = 0,
                                     .first = 64,
                                     .count = 32 * lane_words,
                                     .site = 40 + lane_words,
                                     .lane_words = lane_words};
    writes ? races.write(access, report) : races.read(access, report);
  };
  row(4, true);
  races.sync_lanes(0);
  row(1, false);
  row(1, true);
  EXPECT_EQ(count, 0);
  races.sync_lanes(0);
  row(1, false);
  row(4, true);
  EXPECT_EQ(count, 1) << "lane 0 writes what lane 1 reads";
  races.sync_lanes(0);
  row(4, false);
  row(1, false);
  row(1, true);
  EXPECT_EQ(count, 2) << "read in two layouts";
}

TEST_F(SharedRaceTest, OnlyLanesThatMetAreOrdered) {
  write(0, 5);
  races.sync_lanes(0, 0b0111);
  read(0, 5, 1);
  EXPECT_EQ(count, 0);
  read(0, 5, 3);
  EXPECT_EQ(count, 1) << "lane 3 was not at the __syncwarp()";
  races.sync_lanes(0, 0b1100);
  read(0, 5, 3);
  EXPECT_EQ(count, 1) << "lane 2 has told it";
  races.sync_lanes(0, 0b1001);
  write(0, 5);
  EXPECT_EQ(count, 1);
  races.sync_lanes(0);
  read(0, 5, 3);
  races.sync_lanes(0, 0b0111);
  write(0, 5);
  EXPECT_EQ(count, 2) << "lane 3 may still be reading";
}

TEST_F(SharedRaceTest, DifferentBytesOfAWordDoNotRace) {
  write(0, 5, 0b0001);
  write(1, 5, 0b0010);
  EXPECT_EQ(count, 0);
  write(2, 5, 0b0010);
  EXPECT_EQ(count, 1);
}

TEST_F(SharedRaceTest, WholeRowsBehaveLikeTheirWords) {
  const auto row = [&](unsigned warp, bool writes) {
    const SharedRaces::Access access{.warp = warp, .first = 64, .count = 32, .site = 40 + warp};
    writes ? races.write(access, report) : races.read(access, report);
  };
  row(0, true);
  meet(0xF);
  row(1, false);
  read(2, 70);
  meet(0xF);
  row(3, true);
  EXPECT_EQ(count, 0);
  read(3, 65, 1);
  EXPECT_EQ(count, 0) << "the lane's own word";
  row(2, false);
  EXPECT_EQ(count, 1) << "no barrier since warp 3 wrote it";
  meet(0xF);
  row(1, false);
  write(0, 80);
  EXPECT_EQ(count, 2) << "a word of a row that warp 1 may still read";
}

/// Two observers of the same block: one takes the quick way where it can, the other never.
TEST(SharedRaceRows, TheQuickWayFindsWhatTheSlowOneDoes) {
  constexpr std::uint32_t kWords = 256;
  constexpr unsigned kWarps = 4;
  std::uint64_t state = 1;
  const auto draw = [&](std::uint32_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>((state >> 33U) % below);
  };
  int races = 0;
  for (int block = 0; block < 2000; ++block) {
    BlockOrder order;
    SharedRaces quick{order};
    SharedRaces slow{order};
    quick.reset(4 * kWords, kWarps);
    slow.reset(4 * kWords, kWarps);
    for (int step = 0; step < 60; ++step) {
      const unsigned warp = draw(kWarps);
      const std::uint32_t what = draw(10);
      if (what == 0) {
        for (unsigned w = 0; w < kWarps; ++w)
          order.arrive(w, 0);
        for (unsigned w = 0; w < kWarps; ++w)
          order.leave(w, 0);
        continue;
      }
      if (what == 1) {
        const std::uint32_t some = draw(3) == 0 ? 0xFFFFU << draw(17) : ~0U;
        for (SharedRaces* either : {&quick, &slow})
          some == ~0U ? either->sync_lanes(warp) : either->sync_lanes(warp, some);
        continue;
      }
      SharedRaces::Access access{.warp = warp, .site = 1 + draw(40)};
      const std::uint32_t shape = draw(4);
      access.lane_words = shape == 3 ? 4 : shape == 2 ? 0 : 1;
      access.count = shape == 3 ? 128 : shape == 2 ? 1 : 32;
      access.first = draw(kWords - access.count + 1);
      if (shape != 1 && shape != 2) access.first = access.first / 32 * 32;
      if (shape == 1) access.first = access.first / 33 * 33;
      std::vector<std::tuple<int, std::uint32_t, std::uint32_t>> found[2];
      const auto report_to = [&](int which) {
        return [&, which](const SharedRaces::Conflict& c) {
          found[which].emplace_back(static_cast<int>(c.kind), c.offset, c.earlier_site);
          return true;
        };
      };
      // Mostly reads; a store by all lanes to one word has no quick way.
      if (draw(3) != 0) {
        if (!SharedRaces::QuickReader(quick, warp).read(access)) quick.read(access, report_to(0));
        slow.read(access, report_to(1));
      } else {
        if (!quick.quick_write(access)) quick.write(access, report_to(0));
        slow.write(access, report_to(1));
      }
      ASSERT_EQ(found[0], found[1]) << "block " << block << " step " << step;
      races += static_cast<int>(found[0].size());
    }
  }
  EXPECT_GT(races, 1000);
}

}  // namespace
}  // namespace cuco::check
