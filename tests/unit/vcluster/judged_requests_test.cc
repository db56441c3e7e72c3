// SPDX-License-Identifier: Apache-2.0
// What a judged rank may not ask the virtual cluster for, whatever it writes to its socket.
#include "vcluster/server/judged_requests.h"

#include <gtest/gtest.h>

#include "fake_client.h"
#include "shims/wire/messages_device.h"
#include "shims/wire/messages_managed.h"
#include "shims/wire/messages_memory.h"

namespace cuco::vcluster {
namespace {

template <typename Request>
std::string refusal(const Request& request, bool judged) {
  const auto cluster = make_cluster();
  FakeClient rank(*cluster, 1);
  cluster->judged = judged;
  rank.send(request);
  return rank.session().refused_because();
}

TEST(HouseRules, NoClocksAndNoWaitsOfTheHost) {
  EXPECT_NE(refusal(wire::ReadClock{.advance_ps = 1}, true), "");
  EXPECT_NE(refusal(wire::Sleep{.duration_ps = 1}, true), "");
  EXPECT_NE(refusal(wire::SemaphorePost{.key = 7, .scope = 1}, true), "");
  EXPECT_NE(refusal(wire::Rendezvous{.key = 7, .scope = 1, .count = 2}, true), "");
  EXPECT_NE(refusal(wire::Park{}, true), "");
  EXPECT_NE(refusal(wire::Unpark{}, true), "");
  EXPECT_EQ(refusal(wire::ReadClock{.advance_ps = 1}, false), "");
  EXPECT_EQ(refusal(wire::Sleep{.duration_ps = 1}, false), "");
}

TEST(HouseRules, OurOwnLockAndOutputRemain) {
  EXPECT_EQ(refusal(wire::SemaphorePost{.key = wire::kLoadingLock}, true), "");
  EXPECT_EQ(refusal(wire::FetchOutput{}, true), "");
}

TEST(HouseRules, NoDeviceMemoryForTheHost) {
  EXPECT_NE(refusal(wire::MapManaged{}, true), "");
}

TEST(HouseRules, NobodyJoinsOnceTheCandidateIsLoaded) {
  const auto cluster = make_cluster();
  cluster->judged = true;
  FakeClient rank(*cluster, 1);
  EXPECT_EQ(rank.session().refused_because(), "");
  cluster->sealed = true;
  FakeClient second(*cluster, 1);
  EXPECT_EQ(second.session().refused_because(), "a second connection of a rank");
  FakeClient child(*cluster, 2);
  EXPECT_EQ(child.session().refused_because(), "a process that is none of the ranks");
}

TEST(HouseRules, OneServiceThreadThatOnlyServes) {
  const auto cluster = make_cluster();
  cluster->judged = true;
  FakeClient rank(*cluster, 1);
  cluster->sealed = true;
  FakeClient service(*cluster, 1, wire::Hello::kService);
  EXPECT_EQ(service.session().refused_because(), "");
  FakeClient second(*cluster, 1, wire::Hello::kService);
  EXPECT_EQ(second.session().refused_because(), "a second service thread");
  service.send(wire::Allocate{.bytes = 256});
  EXPECT_EQ(service.session().refused_because(), "a call from a host callback");
}

TEST(HouseRules, AThreadDoesNotSayWhenItWasBorn) {
  const auto cluster = make_cluster();
  cluster->judged = true;
  Session& session = cluster->add_session([](const auto&, auto, auto, int) {}, 0);
  wire::Frame frame;
  frame.header.type = wire::Hello::kType;
  wire::append(frame.payload, wire::Hello{.pid = 1, .born_at = 0});
  cluster->deliver(session, std::move(frame));
  EXPECT_EQ(session.refused_because(), "a thread that says when it was born");
}

TEST(HouseRules, NothingMovesWhileTheJudgeHolds) {
  const auto cluster = make_cluster();
  FakeClient rank(*cluster, 1);
  rank.send(wire::Sleep{.duration_ps = 1});
  EXPECT_FALSE(cluster->must_wait());
  cluster->held = true;
  EXPECT_TRUE(cluster->must_wait());
}

TEST(HouseRules, ARankHasTheGpuThatItWasGiven) {
  const auto cluster = make_cluster(2);
  FakeClient rank(*cluster, 1);
  Process& process = *rank.session().process;
  EXPECT_NE(cluster->context(process, 0), nullptr);
  cluster->sealed = true;
  EXPECT_NE(cluster->context(process, 0), nullptr);
  EXPECT_EQ(cluster->context(process, 1), nullptr);
}

}  // namespace
}  // namespace cuco::vcluster
