// SPDX-License-Identifier: Apache-2.0
// What a read proves: thresholds, additions in any order, stores that hide others.
#include "check/race/sync_history.h"

#include <gtest/gtest.h>

namespace cuco::check {
namespace {

using Kind = SyncHistory::Kind;
using Set = SyncHistory::Set;

SyncHistory::Write by(ActorId actor, Kind kind, std::uint64_t value) {
  SyncHistory::Write write;
  write.kind = kind;
  write.actor = actor;
  write.epoch = 1;
  write.value = value;
  return write;
}

AskDemand at_least(std::uint64_t least) {
  return [least](std::uint64_t value, std::span<const std::uint64_t> others) {
    Demand demand;
    demand.is_poll = value < least;
    for (std::size_t i = 0; i < others.size(); ++i)
      demand.same |= std::uint32_t{(others[i] >= least) == (value >= least)} << i;
    return demand;
  };
}

constexpr Set kInitial = 1;

TEST(SyncHistory, AFlagProvesItsThresholdOnly) {
  SyncHistory flag(0, 4);
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch)
    flag.add(by(7, Kind::Store, epoch), 0);
  const AskDemand two = at_least(2);
  const auto reading = flag.read(kInitial, 3, &two);
  EXPECT_FALSE(reading.is_poll);
  EXPECT_EQ(reading.proven, Set{0b0111});
  EXPECT_EQ(reading.ways.size(), 2U);
  EXPECT_EQ(reading.least, 2U);
}

TEST(SyncHistory, AWriteThatIsKnownHidesOlderOnes) {
  SyncHistory flag(0, 4);
  flag.add(by(7, Kind::Store, 1), 0);
  flag.add(by(7, Kind::Store, 0), 0);
  flag.add(by(7, Kind::Store, 1), 0);
  const AskDemand one = at_least(1);
  EXPECT_EQ(flag.read(kInitial, 1, &one).ways.size(), 2U);
  EXPECT_EQ(flag.read(0b0111, 1, &one).ways.size(), 1U);
}

TEST(SyncHistory, APollProvesNothing) {
  SyncHistory flag(0, 4);
  flag.add(by(7, Kind::Store, 1), 0);
  const AskDemand two = at_least(2);
  EXPECT_TRUE(flag.read(kInitial, 1, &two).is_poll);
}

TEST(SyncHistory, OfAdditionsOnlyThoseAreProvenThatMustHaveCome) {
  SyncHistory count(0, 4);
  for (ActorId writer = 1; writer <= 4; ++writer)
    count.add(by(writer, Kind::Add, writer), kInitial);
  const AskDemand all = at_least(4);
  EXPECT_EQ(count.read(kInitial, 4, &all).proven, Set{0b11111});
  const AskDemand three = at_least(3);
  EXPECT_EQ(count.read(kInitial, 4, &three).proven, kInitial);
}

TEST(SyncHistory, OrderedAdditionsComeInTheirOrder) {
  SyncHistory count(0, 4);
  for (ActorId writer = 1; writer <= 4; ++writer)
    count.add(by(9, Kind::Add, writer), count.all());
  const AskDemand three = at_least(3);
  EXPECT_EQ(count.read(kInitial, 4, &three).proven, Set{0b01111});
}

TEST(SyncHistory, TheNextRoundOfAFastWriterStandsInForASlowOne) {
  SyncHistory count(0, 8);
  count.add(by(1, Kind::Add, 1), kInitial);
  count.add(by(2, Kind::Add, 2), kInitial);
  const AskDemand two = at_least(2);
  const auto reading = count.read(kInitial, 2, &two);
  const SyncHistory::Look look{.actor = 5,
                               .epoch = 1,
                               .proven = reading.proven,
                               .counted = 0b110,
                               .count = 3,
                               .least = reading.least};
  // The next addition of writer 1, which knows of its own only.
  count.add(by(1, Kind::Add, 3), 0b011);
  EXPECT_EQ(count.replaced_by_last(look), Set{0b100});
  // One that knows of both could not have come first.
  SyncHistory ordered(0, 8);
  ordered.add(by(1, Kind::Add, 1), kInitial);
  ordered.add(by(2, Kind::Add, 2), kInitial);
  ordered.add(by(1, Kind::Add, 3), 0b111);
  EXPECT_EQ(ordered.replaced_by_last(look), Set{0});
}

TEST(SyncHistory, ManyWritesBecomeOneWithoutLosingWhatTheyPublished) {
  SyncHistory count(0, 4);
  const ClockPtr clock = Clock::with_actor(nullptr, 1, 1);
  for (ActorId writer = 1; writer <= 200; ++writer) {
    SyncHistory::Write write = by(writer, Kind::Add, writer);
    if (writer == 1) write.tell({.clocks = {nullptr, clock}});
    count.add(write, kInitial);
  }
  EXPECT_EQ(count.writes().size(), SyncHistory::kMost);
  EXPECT_EQ(count.writes()[0].word->clocks[1], clock);
  const AskDemand all = at_least(200);
  EXPECT_EQ(count.read(0, 200, &all).proven, ~Set{0});
}

TEST(SyncHistory, AValueOfUnknownOriginCountsForAllThatWasPublished) {
  SyncHistory flag(0, 4);
  const ClockPtr told = Clock::with_actor(nullptr, 7, 1);
  SyncHistory::Write first = by(7, Kind::Store, 1);
  first.tell({.clocks = {told}});
  flag.add(first, 0);
  flag.add(by(8, Kind::Store, 2), 0);
  flag.start_over(0);
  ASSERT_EQ(flag.writes().size(), 1U);
  EXPECT_EQ(flag.last().value, 0U);
  EXPECT_EQ(flag.last().actor, 8U);
  EXPECT_EQ(flag.last().word->clocks[0]->epoch_of(7), 1U);
}

TEST(SyncHistory, WritesThatShareWhatTheyTellTellTheirOwnEpochsApart) {
  const auto told = std::make_shared<const SyncHistory::Word>(
      SyncHistory::Word{.clocks = {nullptr, Clock::with_actor(nullptr, 7, 1)}});
  const auto release = [&](ActorId writer, Kind kind, std::uint32_t epoch) {
    SyncHistory::Write write = by(writer, kind, epoch);
    write.word = told;
    write.reach = 1;
    write.own = epoch;
    return write;
  };
  SyncHistory count(0, 4);
  count.add(release(8, Kind::Store, 1), 0);
  count.add(release(9, Kind::Add, 5), kInitial);
  SyncHistory::Word all;
  for (const SyncHistory::Write& write : count.writes())
    all.join(write);
  EXPECT_EQ(all.clocks[1]->epoch_of(7), 1U);
  EXPECT_EQ(all.clocks[1]->epoch_of(8), 1U);
  EXPECT_EQ(all.clocks[1]->epoch_of(9), 5U);
  EXPECT_EQ(count.writes()[1].word, count.writes()[2].word);

  // Lanes of a warp, of which the second one adds without a release.
  SyncHistory lanes(0, 4);
  SyncHistory::Write first = release(8, Kind::Add, 2);
  first.value.reset();
  lanes.add(first, 0);
  SyncHistory::Write second = first;
  second.own = 0;
  lanes.add(second, 0);
  ASSERT_EQ(lanes.writes().size(), 2U);
  EXPECT_EQ(lanes.last().own, 2U);
}

}  // namespace
}  // namespace cuco::check
