// SPDX-License-Identifier: Apache-2.0
// What a judged rank may not ask the virtual cluster for, whatever it writes to its socket.
#include "vcluster/server/judged_requests.h"

#include <gtest/gtest.h>

#include "fake_client.h"
#include "shims/wire/messages_device.h"
#include "shims/wire/messages_graph.h"
#include "shims/wire/messages_managed.h"
#include "shims/wire/messages_memory.h"
#include "shims/wire/messages_module.h"
#include "vcluster/server/judge_seat.h"

namespace cuco::vcluster {
namespace {

template <typename Request>
std::string refusal(const Request& request, bool judged) {
  const auto cluster = make_cluster();
  FakeClient rank(*cluster, 1);
  if (judged) cluster->judge_parts().run.begin();
  rank.send(request);
  return rank.session().refused_because();
}

TEST(JudgedRequests, NoClocksAndNoWaitsOfTheHost) {
  EXPECT_NE(refusal(wire::ReadClock{.advance_ps = 1}, true), "");
  EXPECT_NE(refusal(wire::Sleep{.duration_ps = 1}, true), "");
  EXPECT_NE(refusal(wire::SemaphorePost{.key = 7, .scope = 1}, true), "");
  EXPECT_NE(refusal(wire::Rendezvous{.key = 7, .scope = 1, .count = 2}, true), "");
  EXPECT_NE(refusal(wire::Park{}, true), "");
  EXPECT_NE(refusal(wire::Unpark{}, true), "");
  EXPECT_EQ(refusal(wire::ReadClock{.advance_ps = 1}, false), "");
  EXPECT_EQ(refusal(wire::Sleep{.duration_ps = 1}, false), "");
}

TEST(JudgedRequests, OurOwnLockAndOutputRemain) {
  EXPECT_EQ(refusal(wire::SemaphorePost{.key = wire::kLoadingLock}, true), "");
  EXPECT_EQ(refusal(wire::FetchOutput{}, true), "");
}

TEST(JudgedRequests, NoDeviceMemoryForTheHost) {
  EXPECT_NE(refusal(wire::MapManaged{}, true), "");
}

TEST(JudgedRequests, NothingThatBeginsBeforeItsInputIsThere) {
  EXPECT_NE(refusal(wire::Launch{.begins_early = 1}, true), "");
  EXPECT_NE(refusal(wire::GraphAddNode{.begins_early = 1}, true), "");
  EXPECT_NE(refusal(wire::GraphEdit{.begins_early = 1}, true), "");
  EXPECT_NE(refusal(wire::CaptureBegin{.begins_early = 1}, true), "");
  EXPECT_NE(refusal(wire::CaptureSetDependencies{.begins_early = 1}, true), "");
  EXPECT_EQ(refusal(wire::GraphAddNode{}, true), "");
  EXPECT_EQ(refusal(wire::GraphAddNode{.begins_early = 1}, false), "");
}

TEST(JudgedRequests, NobodyJoinsOnceTheCandidateIsLoaded) {
  const auto cluster = make_cluster();
  cluster->judge_parts().run.begin();
  FakeClient rank(*cluster, 1);
  EXPECT_EQ(rank.session().refused_because(), "");
  cluster->processes().seal();
  FakeClient second(*cluster, 1);
  EXPECT_EQ(second.session().refused_because(), "a second connection of a rank");
  FakeClient child(*cluster, 2);
  EXPECT_EQ(child.session().refused_because(), "a process that is none of the ranks");
}

TEST(JudgedRequests, OneServiceThreadThatOnlyServes) {
  const auto cluster = make_cluster();
  cluster->judge_parts().run.begin();
  FakeClient rank(*cluster, 1);
  cluster->processes().seal();
  FakeClient service(*cluster, 1, wire::Hello::kService);
  EXPECT_EQ(service.session().refused_because(), "");
  FakeClient second(*cluster, 1, wire::Hello::kService);
  EXPECT_EQ(second.session().refused_because(), "a second service thread");
  service.send(wire::Allocate{.bytes = 256});
  EXPECT_EQ(service.session().refused_because(), "a call from a host callback");
}

TEST(JudgedRequests, AThreadDoesNotSayWhenItWasBorn) {
  const auto cluster = make_cluster();
  cluster->judge_parts().run.begin();
  Session& session = cluster->add_session([](const auto&, auto, auto, int) {}, 0);
  wire::Frame frame;
  frame.header.type = wire::Hello::kType;
  wire::append(frame.payload, wire::Hello{.pid = 1, .born_at = 0});
  cluster->deliver(session, std::move(frame));
  EXPECT_EQ(session.refused_because(), "a thread that says when it was born");
}

TEST(JudgedRequests, NothingMovesWhileTheJudgeHolds) {
  const auto cluster = make_cluster();
  FakeClient rank(*cluster, 1);
  rank.send(wire::Sleep{.duration_ps = 1});
  EXPECT_FALSE(cluster->must_wait());
  cluster->judge_parts().run.hold();
  EXPECT_TRUE(cluster->must_wait());
}

TEST(JudgedRequests, ARankHasTheGpuThatItWasGiven) {
  const auto cluster = make_cluster(2);
  FakeClient rank(*cluster, 1);
  Process& process = *rank.session().process;
  EXPECT_NE(cluster->processes().context(process, 0), nullptr);
  cluster->processes().seal();
  EXPECT_NE(cluster->processes().context(process, 0), nullptr);
  EXPECT_EQ(cluster->processes().context(process, 1), nullptr);
}

}  // namespace
}  // namespace cuco::vcluster
