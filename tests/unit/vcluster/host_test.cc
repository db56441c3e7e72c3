// SPDX-License-Identifier: Apache-2.0
// Host threads: order by clock, semaphores, rendezvous, refusals, deadlocks.
#include <gtest/gtest.h>

#include "fake_client.h"
#include "shims/wire/messages_memory.h"
#include "shims/wire/messages_module.h"

namespace cuco::vcluster {
namespace {

TEST(Host, NothingMovesWhileAThreadRuns) {
  const auto cluster = make_cluster();
  FakeClient one(*cluster, 1);
  FakeClient two(*cluster, 2);
  EXPECT_TRUE(cluster->must_wait());
  one.send(wire::Sleep{.duration_ps = 5});
  EXPECT_TRUE(cluster->must_wait());
  two.send(wire::Sleep{.duration_ps = 3});
  EXPECT_FALSE(cluster->must_wait());
}

TEST(Host, TheLowerClockIsServedFirst) {
  const auto cluster = make_cluster();
  FakeClient one(*cluster, 1);
  FakeClient two(*cluster, 2);
  one.send(wire::Sleep{.duration_ps = 500});
  two.send(wire::Sleep{.duration_ps = 300});
  while (!one.answered() && !two.answered() && cluster->advance()) {
  }
  EXPECT_FALSE(one.answered());
  EXPECT_TRUE(two.answered());
}

TEST(Host, ASemaphoreCarriesTheClock) {
  const auto cluster = make_cluster();
  FakeClient waiter(*cluster, 1);
  FakeClient poster(*cluster, 2);
  waiter.send(wire::SemaphoreWait{.key = 9, .scope = 1});
  EXPECT_EQ(poster.call(wire::Sleep{.duration_ps = vgpu::kMillisecond}), wire::kSuccess);
  EXPECT_FALSE(waiter.answered());
  EXPECT_EQ(poster.call(wire::SemaphorePost{.key = 9, .scope = 1}), wire::kSuccess);
  EXPECT_TRUE(waiter.answered());
  EXPECT_GE(waiter.clock(), vgpu::kMillisecond);
}

TEST(Host, ASemaphoreOfAnotherProcessIsAnother) {
  const auto cluster = make_cluster();
  FakeClient waiter(*cluster, 1);
  FakeClient poster(*cluster, 2);
  waiter.send(wire::SemaphoreWait{.key = 9});
  EXPECT_EQ(poster.call(wire::SemaphorePost{.key = 9}), wire::kSuccess);
  EXPECT_FALSE(waiter.answered());
}

TEST(Host, AWaitGivesUpAfterItsTimeout) {
  const auto cluster = make_cluster();
  FakeClient waiter(*cluster);
  wire::SemaphoreWait::Reply reply{.acquired = 7};
  EXPECT_EQ(waiter.call(wire::SemaphoreWait{.key = 1, .timeout_ps = 1000}, &reply), wire::kSuccess);
  EXPECT_EQ(reply.acquired, 0U);
}

TEST(Host, APostForThoseWhoWaitIsNotTakenByWhoComesLater) {
  const auto cluster = make_cluster();
  FakeClient first(*cluster, 1);
  FakeClient second(*cluster, 1);
  EXPECT_EQ(second.call(wire::SemaphorePost{.key = 9, .count = 1, .last_ticket = 1}),
            wire::kSuccess);
  second.send(wire::SemaphoreWait{.key = 9, .ticket = 2});
  EXPECT_FALSE(second.answered());
  wire::SemaphoreWait::Reply reply;
  EXPECT_EQ(first.call(wire::SemaphoreWait{.key = 9, .ticket = 1}, &reply), wire::kSuccess);
  EXPECT_EQ(reply.acquired, 1U);
  EXPECT_FALSE(second.answered());
}

TEST(Host, ARendezvousReleasesAllAtTheLatestTime) {
  const auto cluster = make_cluster();
  FakeClient one(*cluster, 1);
  FakeClient two(*cluster, 2);
  one.send(wire::Rendezvous{.key = 4, .scope = 1, .count = 2});
  EXPECT_EQ(two.call(wire::Sleep{.duration_ps = vgpu::kSecond}), wire::kSuccess);
  EXPECT_EQ(two.call(wire::Rendezvous{.key = 4, .scope = 1, .count = 2}), wire::kSuccess);
  EXPECT_TRUE(one.answered());
  EXPECT_GE(one.clock(), vgpu::kSecond);
}

TEST(Host, EverybodyParkedAndNothingPendingIsADeadlock) {
  const auto cluster = make_cluster();
  FakeClient one(*cluster, 1);
  one.send(wire::SemaphoreWait{.key = 1, .kind = wire::HostWait::Condition});
  while (cluster->advance()) {
  }
  EXPECT_FALSE(cluster->must_wait());
  const auto lines = describe(cluster->waits());
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("condition variable"), std::string::npos);
}

TEST(Host, WhoPollsForLongPollsLessOften) {
  const auto cluster = make_cluster();
  FakeClient client(*cluster);
  int polls = 0;
  for (; client.clock() < vgpu::kSecond && polls < 100'000; ++polls) {
    EXPECT_EQ(client.call(wire::ReadClock{.advance_ps = vgpu::kMicrosecond}), wire::kSuccess);
  }
  EXPECT_LT(polls, 5000);
  EXPECT_LT(client.clock(), vgpu::kSecond + 5 * vgpu::kMillisecond);  // little more than asked for
  // Whatever else it does, it starts anew.
  EXPECT_EQ(client.call(wire::Sleep{.duration_ps = 1}), wire::kSuccess);
  const VTime before = client.clock();
  EXPECT_EQ(client.call(wire::ReadClock{.advance_ps = vgpu::kMicrosecond}), wire::kSuccess);
  EXPECT_EQ(client.clock() - before, vgpu::kMicrosecond);
}

TEST(Host, ADeadProcessIsNamed) {
  const auto cluster = make_cluster();
  FakeClient one(*cluster, 41);
  cluster->remove_session(one.session());
  ASSERT_EQ(cluster->processes().lost().size(), 1U);
  EXPECT_NE(cluster->processes().lost()[0].find("41"), std::string::npos);
}

// What no honest library sends is refused with a reason, and nothing else happens.

TEST(Forged, UnknownMessageIsRefused) {
  const auto cluster = make_cluster();
  FakeClient client(*cluster);
  wire::Frame frame;
  frame.header.type = 0x7777;
  cluster->deliver(client.session(), std::move(frame));
  EXPECT_NE(client.session().refused_because().find("0x7777"), std::string::npos);
}

TEST(Forged, ShortMessageIsRefused) {
  const auto cluster = make_cluster();
  FakeClient client(*cluster);
  wire::Frame frame;
  frame.header.type = wire::Allocate::kType;
  frame.payload.resize(3);
  cluster->deliver(client.session(), std::move(frame));
  cluster->advance();
  EXPECT_NE(client.session().refused_because().find("too short"), std::string::npos);
}

TEST(Forged, SecondHelloIsRefused) {
  const auto cluster = make_cluster();
  FakeClient client(*cluster);
  client.send(wire::Hello{});
  EXPECT_FALSE(client.session().refused_because().empty());
}

TEST(Forged, HugeSizesAreErrorsNotOverflows) {
  const auto cluster = make_cluster();
  FakeClient client(*cluster);
  wire::Copy copy;
  copy.width = ~0ULL;
  copy.height = ~0ULL;
  copy.depth = ~0ULL;
  copy.to.address = copy.from.address = 0x2000'0000'0000;
  EXPECT_EQ(client.call(copy), wire::kInvalidValue);
  EXPECT_EQ(client.call(wire::Allocate{.bytes = ~0ULL}), wire::kMemoryAllocation);
  EXPECT_EQ(client.call(wire::Allocate{.device = -1, .bytes = 4}), wire::kInvalidDevice);
  EXPECT_EQ(client.call(wire::Free{.address = 0xdead}), wire::kInvalidValue);
}

TEST(Forged, MemoryOfAnotherProcessCannotBeFreed) {
  const auto cluster = make_cluster();
  FakeClient owner(*cluster, 1);
  FakeClient thief(*cluster, 2);
  wire::Allocate::Reply reply;
  thief.send(wire::Sleep{.duration_ps = vgpu::kSecond});
  ASSERT_EQ(owner.call(wire::Allocate{.bytes = 4096}, &reply), wire::kSuccess);
  owner.send(wire::Sleep{.duration_ps = 2 * vgpu::kSecond});
  while (!thief.answered() && cluster->advance()) {
  }
  EXPECT_EQ(thief.call(wire::Free{.address = reply.address}), wire::kInvalidValue);
}

TEST(Forged, AModuleWithoutAFileIsRefused) {
  const auto cluster = make_cluster();
  FakeClient client(*cluster);
  client.call(wire::LoadModule{.images = 3});
  EXPECT_FALSE(client.session().refused_because().empty());
}

}  // namespace
}  // namespace cuco::vcluster
