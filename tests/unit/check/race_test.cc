// SPDX-License-Identifier: Apache-2.0
// Message passing in every form: which patterns order the data, and which only seem to.
#include <algorithm>
#include <array>
#include <span>

#include <gtest/gtest.h>

#include "race_fixture.h"

namespace cuco::check {
namespace {

TEST_F(RaceTest, UnsynchronisedWriteAndReadRace) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  store(a, kData);
  load(b, kData);
  EXPECT_EQ(races, 1);
}

TEST_F(RaceTest, AFlagOfTwoSizesOrdersNothingAndIsARaceItself) {
  for (const std::uint64_t bytes : {1, 2, 8, 16}) {
    races = 0;
    const ActorId a = actor(1);
    const ActorId b = actor(2);
    const Address data = kData + 64 * bytes;
    const Address flag = kFlag + 64 * bytes;
    store(a, data);
    store(a, flag, Order::Release);
    detector.access(b, {AccessKind::Load, Order::Acquire, Scope::Sys, flag, bytes, 0, 0});
    EXPECT_EQ(races, 1) << bytes;
    load(b, data);
    EXPECT_EQ(races, 2) << bytes;
  }
}

TEST_F(RaceTest, AtomicsOfAWordMeetPartsOfIt) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  store(a, kData);
  add(a, kFlag, Order::Release);
  detector.access(b, {AccessKind::Load, Order::Acquire, Scope::Sys, kFlag, 1, 0, 0});
  load(b, kData);
  EXPECT_EQ(races, 0);
}

TEST_F(RaceTest, AWriteOfAnotherSizeEndsWhatWasPublished) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  store(a, kData);
  store(a, kFlag, Order::Release);
  detector.access(a, {AccessKind::Store, Order::Relaxed, Scope::Sys, kFlag, 8, 0, 0});
  load(b, kFlag, Order::Acquire);
  EXPECT_EQ(races, 1) << "of the flag";
  load(b, kData);
  EXPECT_EQ(races, 2);
}

TEST_F(RaceTest, ElementsOfAVectorPublishNotEachOther) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  store(a, kData);
  (void)detector.publish(a);
  Access element{AccessKind::Store, Order::Release, Scope::Sys, kFlag, 4, 0, 0};
  element.is_element = true;
  element.goes_on = true;
  detector.access(a, element);
  element.address += 4;
  element.goes_on = false;
  detector.access(a, element);
  load(b, kFlag + 4, Order::Acquire);
  load(b, kData);
  EXPECT_EQ(races, 0);
  load(b, kFlag);
  EXPECT_EQ(races, 1);
}

TEST_F(RaceTest, ReadsNeverRace) {
  load(actor(1), kData);
  load(actor(2), kData);
  load(actor(3), kData);
  EXPECT_EQ(races, 0);
}

TEST_F(RaceTest, WriteAfterUnorderedReadsRacesWithEach) {
  load(actor(1), kData);
  load(actor(2), kData);
  store(actor(3), kData);
  EXPECT_EQ(races, 2);
}

TEST_F(RaceTest, DifferentBytesOfAWordDoNotRace) {
  detector.access(actor(1), {AccessKind::Store, Order::Weak, Scope::Sys, kData, 2, 0, 0});
  detector.access(actor(2), {AccessKind::Store, Order::Weak, Scope::Sys, kData + 2, 2, 0, 0});
  EXPECT_EQ(races, 0);
  detector.access(actor(3), {AccessKind::Store, Order::Weak, Scope::Sys, kData + 2, 1, 0, 0});
  EXPECT_EQ(races, 1);
}

TEST_F(RaceTest, ReleaseAcquireOrdersTheData) {
  const ActorId a = actor(1);
  const ActorId b = actor(2, 1);
  store(a, kData);
  store(a, kFlag, Order::Release);
  load(b, kFlag, Order::Acquire);
  load(b, kData);
  EXPECT_EQ(races, 0);
}

TEST_F(RaceTest, AMulticastStoreIsOneOperation) {
  const ActorId a = actor(1);
  const ActorId b = actor(2, 1);
  Access first{AccessKind::Store, Order::Release, Scope::Sys, kFlag, 4, 0, 0};
  first.goes_on = true;
  detector.access(a, first);
  store(a, kFlag + 64, Order::Release);
  load(b, kFlag, Order::Acquire);
  store(b, kFlag + 64);
  EXPECT_EQ(races, 0) << "who has seen it at one member knows it at the others";
  store(a, kFlag + 128);
  store(b, kFlag + 128);
  EXPECT_EQ(races, 1);
}

TEST_F(RaceTest, RelaxedFlagWithoutFencesOrdersNothing) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  store(a, kData);
  store(a, kFlag, Order::Relaxed);
  load(b, kFlag, Order::Relaxed);
  load(b, kData);
  EXPECT_EQ(races, 1);
}

TEST_F(RaceTest, FencesAroundARelaxedFlagOrderTheData) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  store(a, kData);
  detector.fence(a, Order::AcqRel, Scope::Gpu);
  store(a, kFlag, Order::Relaxed, Scope::Gpu);
  load(b, kFlag, Order::Relaxed, Scope::Gpu);
  detector.fence(b, Order::AcqRel, Scope::Gpu);
  load(b, kData);
  EXPECT_EQ(races, 0);
}

TEST_F(RaceTest, MissingReaderFenceRaces) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  store(a, kData);
  detector.fence(a, Order::AcqRel, Scope::Gpu);
  store(a, kFlag, Order::Relaxed);
  load(b, kFlag, Order::Relaxed);
  load(b, kData);
  EXPECT_EQ(races, 1);
}

TEST_F(RaceTest, StoreAfterTheFenceIsNotPublished) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  detector.fence(a, Order::AcqRel, Scope::Gpu);
  store(a, kData);
  store(a, kFlag, Order::Relaxed);
  load(b, kFlag, Order::Relaxed);
  detector.fence(b, Order::AcqRel, Scope::Gpu);
  load(b, kData);
  EXPECT_EQ(races, 1);
}

TEST_F(RaceTest, BlockScopeReleaseDoesNotReachAPeer) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  store(a, kData);
  store(a, kFlag, Order::Release, Scope::Cta);
  load(b, kFlag, Order::Acquire, Scope::Sys);
  load(b, kData);
  EXPECT_EQ(races, 2) << "the flag itself is not morally strong either";
}

TEST_F(RaceTest, DeviceScopeReleaseDoesNotReachAnotherDevice) {
  const ActorId a = actor(1, 0);
  const ActorId near = actor(2, 0);
  const ActorId far = actor(3, 1);
  store(a, kData);
  store(a, kFlag, Order::Release, Scope::Gpu);
  load(near, kFlag, Order::Acquire, Scope::Gpu);
  load(near, kData);
  EXPECT_EQ(races, 0);
  load(far, kFlag, Order::Acquire, Scope::Sys);
  load(far, kData);
  EXPECT_EQ(races, 2);
}

TEST_F(RaceTest, ANarrowAcquireLearnsNothingFromOutside) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  store(a, kData);
  add(a, kFlag, Order::Release, Scope::Sys);
  load(b, kFlag, Order::Acquire, Scope::Cta);
  load(b, kData);
  EXPECT_EQ(races, 2) << "flag and data";
}

TEST_F(RaceTest, AWideFenceBeforeANarrowStoreReachesNoFurtherThanTheStore) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  store(a, kData);
  detector.fence(a, Order::AcqRel, Scope::Sys);
  store(a, kFlag, Order::Relaxed, Scope::Cta);
  load(b, kFlag, Order::Acquire, Scope::Sys);
  load(b, kData);
  EXPECT_EQ(races, 2) << "flag and data";
}

TEST_F(RaceTest, ReadModifyWritesPassOnWhatTheyRead) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  const ActorId c = actor(3);
  store(a, kData);
  add(a, kFlag, Order::Release);
  add(b, kFlag, Order::Relaxed);
  load(c, kFlag, Order::Acquire);
  load(c, kData);
  EXPECT_EQ(races, 0);
}

TEST_F(RaceTest, APlainStrongStoreEndsTheReleaseSequence) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  const ActorId c = actor(3);
  store(a, kData);
  store(a, kFlag, Order::Release);
  store(b, kFlag, Order::Relaxed);
  load(c, kFlag, Order::Acquire);
  load(c, kData);
  EXPECT_EQ(races, 1);
}

TEST_F(RaceTest, OrderIsTransitive) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  const ActorId c = actor(3);
  store(a, kData);
  store(a, kFlag, Order::Release);
  load(b, kFlag, Order::Acquire);
  store(b, kFlag + 8, Order::Release);
  load(c, kFlag + 8, Order::Acquire);
  load(c, kData);
  EXPECT_EQ(races, 0);
}

TEST_F(RaceTest, WritesAfterTheReleaseAreNotCovered) {
  const ActorId a = actor(1);
  const ActorId b = actor(2);
  store(a, kFlag, Order::Release);
  store(a, kData);
  load(b, kFlag, Order::Acquire);
  load(b, kData);
  EXPECT_EQ(races, 1);
}

TEST_F(RaceTest, AStreamsLaterOperationKnowsItsEarlierOnes) {
  const ActorId first = detector.add_actors({1, 0, 7, 1}, 4, Clock::zero());
  store(first + 3, kData);
  const ActorId other_stream = detector.add_actors({2, 0, 8, 1}, 1, Clock::zero());
  load(other_stream, kData);
  EXPECT_EQ(races, 1);
  const ActorId second =
      detector.add_actors({3, 0, 7, 2}, 1, Clock::with_chain(Clock::zero(), 7, 1));
  load(second, kData);
  EXPECT_EQ(races, 1);
}

TEST_F(RaceTest, FreedMemoryHasNoHistory) {
  store(actor(1), kData);
  detector.forget(kData, 4);
  load(actor(2), kData);
  EXPECT_EQ(races, 0);
}

TEST_F(RaceTest, WhoeverFindsAFlagFromOutsideKnowsWhatWasPublishedThere) {
  const ActorId a = actor(1);
  store(a, kData);
  detector.fence(a, Order::Sc, Scope::Sys);
  store(a, kFlag, Order::Relaxed);
  const ActorId host = detector.add_actors({9, 0xFFFF, 0, 0}, 1, Clock::zero());
  detector.learn(host, detector.told_by(kFlag));
  load(host, kData);
  EXPECT_EQ(races, 0);
}

TEST_F(RaceTest, AFlagRaisedWithoutAFenceTellsNothing) {
  const ActorId a = actor(1);
  store(a, kData);
  store(a, kFlag, Order::Relaxed);
  EXPECT_EQ(detector.told_by(kFlag), nullptr);
}

TEST_F(RaceTest, AnOrdinaryStoreIsTakenForAFlagThatTellsAll) {
  const ActorId a = actor(1);
  store(a, kData);
  store(a, kFlag);
  const ActorId host = detector.add_actors({9, 0xFFFF, 0, 0}, 1, Clock::zero());
  detector.learn(host, detector.told_by(kFlag));
  load(host, kData);
  EXPECT_EQ(races, 0);
  store(a, kData + 64);  // Later than the flag.
  load(host, kData + 64);
  EXPECT_EQ(races, 1);
}

TEST_F(RaceTest, TheLastReaderOfABlockDoesNotSpeakForTheOthers) {
  BlockOrder order;
  const ActorId warps = detector.add_actors({1, 0, 1, 1}, 3, Clock::zero(), &order);
  const ActorId writer = actor(2);
  for (ActorId warp = warps; warp < warps + 3; ++warp)
    load(warp, kData);
  store(warps + 2, kFlag, Order::Release);
  load(writer, kFlag, Order::Acquire);
  store(writer, kData);
  EXPECT_EQ(races, 1);
}

// A barrier of NCCL whose arrivals add to a word of every rank at once (multimem). Rank 2 comes a
// second time before rank 0 looks; it has seen rank 1 in its own word, so it stands in for nobody.
TEST_F(RaceTest, AnArrivalSeenInOneWordOfABarrierCameBeforeTheNextInAll) {
  constexpr std::array<Address, 3> kWords = {0x3000, 0x4000, 0x5000};
  const AskDemand all_three = [](std::uint64_t value, std::span<const std::uint64_t> others) {
    Demand demand{.is_poll = value < 3};
    for (std::size_t i = 0; i < others.size(); ++i)
      demand.same |= (others[i] >= 3) == (value >= 3) ? 1U << i : 0U;
    return demand;
  };
  std::array<BlockOrder, 3> orders;
  std::array<ActorId, 3> ranks = {};
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const ActorId before_it = actor(rank + 10, rank);
    store(before_it, kData + 4 * rank);
    ranks[rank] =
        detector.add_actors({rank + 1, rank, 1, 1}, 1, detector.publish(before_it), &orders[rank]);
  }
  std::array<std::uint64_t, 3> values = {};
  const auto arrive = [&](ActorId who) {
    for (std::size_t word = 0; word < kWords.size(); ++word) {
      Access access{AccessKind::Atomic, Order::Relaxed, Scope::Sys, kWords[word], 4, 0, 0};
      access.of_library = access.is_addition = true;
      access.before = values[word];
      access.after = ++values[word];
      detector.access(who, access);
    }
  };
  const auto look = [&](std::size_t rank) {
    Access access{AccessKind::Load, Order::Relaxed, Scope::Sys, kWords[rank], 4, 0, 0};
    access.of_library = true;
    access.before = values[rank];
    access.ask = &all_three;
    detector.access(ranks[rank], access);
  };
  for (const ActorId rank : ranks)
    arrive(rank);
  look(2);
  arrive(ranks[2]);
  look(0);
  load(ranks[0], kData + 4);
  EXPECT_EQ(races, 0);
}

TEST_F(RaceTest, WhatAThreadHasWaitedForIsPartOfWhatItDoes) {
  const ActorId thread = actor(1);
  const ActorId early = actor(2);
  const ActorId reader = actor(3);
  const ActorId copy = detector.add_actors(detector.info(thread), 1, detector.publish(thread));
  store(copy, kData);
  store(thread, kFlag, Order::Release);
  load(early, kFlag, Order::Acquire);
  detector.adopt(copy, thread);
  store(thread, kFlag + 64, Order::Release);
  load(reader, kFlag + 64, Order::Acquire);
  load(reader, kData);
  EXPECT_EQ(races, 0);
  load(early, kData);
  EXPECT_EQ(races, 1) << "the flag was raised before the wait";
}

/// Two puts of one queue: whoever has seen the second's signal knows that the first has come, but
/// not yet what the first's thread had written before it.
class PutTest : public RaceTest {
 protected:
  static constexpr ChainId kQueue = 2;
  PutTest() {
    store(first_thread, kData);
    first = post(first_thread, 1);
    second = post(second_thread, 2);
  }
  ActorId post(ActorId thread, std::uint64_t operation) {
    return detector.add_actors({10 + static_cast<std::uint32_t>(operation), 0, kQueue, operation},
                               1, detector.publish(thread));
  }
  void raise(ActorId put, Address signal, std::uint64_t before = 0) {
    Access access{AccessKind::Atomic, Order::Release, Scope::Sys, signal, 4, 0, 0};
    access.is_addition = access.is_delivery = true;
    access.before = before;
    access.after = before + 1;
    detector.access(put, access);
  }
  ActorId first_thread = actor(1);
  ActorId second_thread = actor(2);
  ActorId reader = actor(3, 1);
  ActorId first = 0;
  ActorId second = 0;
};

TEST_F(PutTest, ADeliveryTellsMoreThanThatItHasCome) {
  raise(first, kFlag);
  detector.learn(second, Clock::with_chain(nullptr, kQueue, 1));
  raise(second, kFlag + 64);
  load(reader, kFlag + 64, Order::Acquire);
  load(reader, kFlag, Order::Acquire);
  load(reader, kData);
  EXPECT_EQ(races, 0);
}

TEST_F(PutTest, AndSoDoTwoThatCountUpOneSignal) {
  raise(first, kFlag);
  detector.learn(second, Clock::with_chain(nullptr, kQueue, 1));
  raise(second, kFlag, 1);
  load(reader, kFlag, Order::Acquire);
  load(reader, kData);
  EXPECT_EQ(races, 0);
}

TEST_F(RaceTest, WhatIsKnownDoesNotGrowWithTheWorkThatHasEnded) {
  constexpr std::uint32_t kWorks = 40;
  constexpr std::uint32_t kActors = 16;
  std::size_t most = 0;
  for (std::uint32_t work = 1; work <= kWorks; ++work) {
    const ClockPtr start = Clock::with_chain(Clock::zero(), 1, work - 1);
    const ActorId first = detector.add_actors({work, 0, 1, work}, kActors, start);
    for (ActorId who = first; who < first + kActors; ++who) {
      add(who, kFlag, Order::AcqRel);
      most = std::max(most, detector.knowledge(who)->size());
    }
    detector.retire(first);
  }
  EXPECT_GE(most, kActors - 1) << "those beside it are known";
  EXPECT_LE(most, 10 * kActors) << "those of earlier work are known by its end";
  EXPECT_EQ(races, 0);
}

}  // namespace
}  // namespace cuco::check
