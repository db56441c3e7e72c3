// SPDX-License-Identifier: Apache-2.0
#include "check/shared_race.h"

#include <optional>

#include <gtest/gtest.h>

namespace cuco::check {
namespace {

class SharedRaceTest : public ::testing::Test {
 protected:
  void read(unsigned warp, std::uint32_t word) { races.read(warp, word, 1, 10 + warp, report); }
  void write(unsigned warp, std::uint32_t word) { races.write(warp, word, 1, 20 + warp, report); }
  void atomic(unsigned warp, std::uint32_t word) { races.atomic(warp, word, 30 + warp, report); }
  std::optional<SharedRaces::Conflict> last;
  int count = 0;
  SharedRaces::Report report = [this](const SharedRaces::Conflict& c) {
    last = c;
    ++count;
  };
  SharedRaces races{4096, 4};
};

TEST_F(SharedRaceTest, ReadOfAnotherWarpsWriteNeedsABarrier) {
  write(0, 5);
  read(1, 5);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(last->offset, 20U);
  EXPECT_EQ(last->earlier_warp, 0U);
  EXPECT_EQ(last->earlier_site, 20U);
}

TEST_F(SharedRaceTest, ABarrierOrdersBothDirections) {
  write(0, 5);
  races.meet(0xF);
  read(1, 5);
  read(2, 5);
  races.meet(0xF);
  write(3, 5);
  EXPECT_EQ(count, 0);
}

TEST_F(SharedRaceTest, TheSecondBarrierOfATileLoopIsNeeded) {
  write(0, 5);
  races.meet(0xF);
  read(1, 5);
  write(0, 5);
  ASSERT_EQ(count, 1);
  EXPECT_FALSE(last->earlier_writes);
  EXPECT_EQ(last->earlier_warp, 1U);
}

TEST_F(SharedRaceTest, APartialBarrierOrdersOnlyThoseWhoMet) {
  write(0, 5);
  races.meet(0b0011);
  read(1, 5);
  EXPECT_EQ(count, 0);
  read(2, 5);
  EXPECT_EQ(count, 1);
}

TEST_F(SharedRaceTest, KnowledgeIsPassedOn) {
  write(0, 5);
  races.meet(0b0011);
  races.meet(0b0110);
  read(2, 5);
  EXPECT_EQ(count, 0);
}

TEST_F(SharedRaceTest, AtomicsDoNotRaceWithEachOther) {
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

}  // namespace
}  // namespace cuco::check
