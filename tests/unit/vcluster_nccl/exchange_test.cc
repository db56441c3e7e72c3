// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "rig.h"

namespace cuco::vcluster {
namespace {

using nccl_core::Code;
using nccl_core::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

wire::NcclOperation operation(
    Kind kind, std::uint64_t count, vgpu::Address send, vgpu::Address recv, int root = 0) {
  wire::NcclOperation result;
  result.kind = static_cast<std::uint32_t>(kind);
  result.type = static_cast<std::int32_t>(nccl_core::DataType::Int32);
  result.count = count;
  result.send = send;
  result.recv = recv;
  result.root = root;
  return result;
}

/// Posts and submits a group of a rank; the rank's stream is empty, so that it starts at once.
WorkPtr submit(Rig& rig, int rank, const std::vector<wire::NcclOperation>& operations) {
  NcclWorld::Posted posted = rig.world().post(rig.place(rank), operations);
  for (const auto& problem : posted.problems)
    EXPECT_FALSE(problem) << problem->message;
  if (posted.work != nullptr) rig.works().submit(posted.work, {});
  return posted.work;
}

TEST(Exchange, CollectiveStartsWhenAllRanksAreThere) {
  Rig rig(fabric::single_node(2));
  rig.init();
  const auto a = rig.device_ints(0, {1, 2});
  const auto b = rig.device_ints(1, {10, 20});
  const WorkPtr first = submit(rig, 0, {operation(Kind::AllReduce, 2, a, a)});
  rig.run();
  EXPECT_FALSE(first->done());
  ASSERT_EQ(rig.world().waits().size(), 1U);
  EXPECT_THAT(rig.world().waits().front().what,
              HasSubstr("rank 0 waits in it; never called by rank 1"));
  const WorkPtr second = submit(rig, 1, {operation(Kind::AllReduce, 2, b, b)});
  rig.run();
  EXPECT_TRUE(first->done());
  EXPECT_EQ(first->done_at, second->done_at);
  EXPECT_GT(first->done_at, 0);
  EXPECT_THAT(Rig::read_ints(a, 2), ElementsAre(11, 22));
  EXPECT_THAT(Rig::read_ints(b, 2), ElementsAre(11, 22));
  EXPECT_TRUE(rig.world().waits().empty());
}

TEST(Exchange, KernelsStartWhenTheHostHasLaunchedThem) {
  Rig rig(fabric::single_node(2));
  rig.init();
  const auto a = rig.device_ints(0, {1});
  const auto b = rig.device_ints(1, {2});
  constexpr VTime kLaunched = 50 * vgpu::kMicrosecond;
  const WorkPtr first = submit(rig, 0, {operation(Kind::AllReduce, 1, a, a)});
  NcclWorld::Posted posted =
      rig.world().post(rig.place(1), {operation(Kind::AllReduce, 1, b, b)}, kLaunched);
  rig.works().submit(posted.work, {});
  rig.run();
  const std::vector<int> gpus = {0, 1};
  const fabric::Topology topology = fabric::single_node(2);
  const VTime alone =
      fabric::collective_cost({topology, {}}, fabric::Pattern::AllReduce, gpus, 4).duration;
  EXPECT_EQ(first->done_at, kLaunched + alone);
}

// What a group of messages takes: the first one's way, and a little more for each further one.
TEST(Exchange, MessagesOfAGroupShareThePort) {
  const auto time_of = [](int peers) {
    Rig rig(fabric::single_node(4));
    rig.init();
    constexpr int kInts = 1 << 20;
    std::vector<WorkPtr> works;
    const auto from = rig.device_ints(0, std::vector<int>(kInts));
    std::vector<wire::NcclOperation> sends;
    for (int peer = 1; peer <= peers; ++peer) {
      sends.push_back(operation(Kind::Send, kInts, from, 0, peer));
      const auto to = rig.device_ints(peer, std::vector<int>(kInts));
      works.push_back(submit(rig, peer, {operation(Kind::Recv, kInts, 0, to, 0)}));
    }
    works.push_back(submit(rig, 0, sends));
    rig.run();
    EXPECT_TRUE(works.back()->done());
    return works.back()->done_at;
  };
  EXPECT_GT(time_of(1), 20 * vgpu::kMicrosecond);
  EXPECT_GT(time_of(3), time_of(1) + 10 * vgpu::kMicrosecond);
  EXPECT_LT(time_of(3), 2 * time_of(1));
}

TEST(Exchange, StreamsAreRespected) {
  Rig rig(fabric::single_node(2));
  rig.init();
  const auto a = rig.device_ints(0, {1});
  const auto b = rig.device_ints(1, {2});
  const WorkPtr kernel = WorkGraph::make(
      "kernel", [&](const WorkPtr& work) { rig.works().finish(work, 5'000'000'000); });
  rig.works().submit(kernel, {});
  NcclWorld::Posted posted = rig.world().post(rig.place(0), {operation(Kind::AllReduce, 1, a, a)});
  const WorkPtr before[] = {kernel};
  rig.works().submit(posted.work, before);
  const WorkPtr other = submit(rig, 1, {operation(Kind::AllReduce, 1, b, b)});
  rig.run();
  EXPECT_GT(other->done_at, 5'000'000'000);
}

TEST(Exchange, MismatchBreaksTheCommunicatorAndNamesBothRanks) {
  Rig rig(fabric::single_node(2));
  rig.init();
  const auto a = rig.device_ints(0, {1, 2, 3, 4});
  const auto b = rig.device_ints(1, {1, 2, 3, 4});
  const WorkPtr first = submit(rig, 0, {operation(Kind::AllReduce, 4, a, a)});
  const NcclWorld::Posted second =
      rig.world().post(rig.place(1), {operation(Kind::AllReduce, 2, b, b)});
  ASSERT_TRUE(second.problems.front());
  EXPECT_EQ(second.problems.front()->code, Code::InvalidUsage);
  EXPECT_THAT(second.problems.front()->message, HasSubstr("the counts differ: rank 1"));
  rig.run();
  EXPECT_TRUE(first->done());
  EXPECT_EQ(rig.place(0).clique->broken.code, Code::InvalidUsage);
  EXPECT_EQ(rig.log.size(), 1U);
}

TEST(Exchange, GroupedSendsAndReceivesFormARing) {
  Rig rig(fabric::single_node(4));
  rig.init();
  std::vector<vgpu::Address> in;
  std::vector<vgpu::Address> out;
  for (int rank = 0; rank < 4; ++rank) {
    in.push_back(rig.device_ints(rank, {rank * 10, rank * 10 + 1}));
    out.push_back(rig.device_ints(rank, {0, 0}));
  }
  std::vector<WorkPtr> works;
  for (int rank = 0; rank < 4; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    works.push_back(submit(rig, rank,
                           {operation(Kind::Send, 2, in[r], 0, (rank + 1) % 4),
                            operation(Kind::Recv, 2, 0, out[r], (rank + 3) % 4)}));
  }
  rig.run();
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_TRUE(works[r]->done());
    const int from = static_cast<int>((r + 3) % 4);
    EXPECT_THAT(Rig::read_ints(out[r], 2), ElementsAre(from * 10, from * 10 + 1));
  }
}

TEST(Exchange, UngroupedHeadToHeadSendsAreADeadlock) {
  Rig rig(fabric::single_node(2));
  rig.init();
  const auto a = rig.device_ints(0, {1});
  const auto b = rig.device_ints(1, {2});
  const WorkPtr send = submit(rig, 0, {operation(Kind::Send, 1, a, 0, 1)});
  submit(rig, 1, {operation(Kind::Send, 1, b, 0, 0)});
  rig.run();
  EXPECT_FALSE(send->done());
  EXPECT_THAT(rig.world().waits().front().what,
              HasSubstr("rank 1 never called the matching ncclRecv"));
}

TEST(Exchange, ArgumentsAndMemoryAreChecked) {
  Rig rig(fabric::single_node(2));
  rig.init();
  const auto mine = rig.device_ints(0, {1});
  const auto theirs = rig.device_ints(1, {1});
  const auto problem = [&](const wire::NcclOperation& wrong) {
    return *rig.world().post(rig.place(0), {wrong}).problems.front();
  };
  EXPECT_THAT(problem(operation(Kind::AllReduce, 1, 0x1234, mine)).message,
              HasSubstr("sendbuff is not device memory"));
  EXPECT_THAT(problem(operation(Kind::AllReduce, 1, mine, theirs)).message,
              HasSubstr("recvbuff is on device 1, but rank 0 uses device 0"));
  EXPECT_EQ(problem(operation(Kind::Broadcast, 1, mine, mine, 7)).code, Code::InvalidArgument);
}

TEST(Communicators, DuplicateDevicesAreRefused) {
  Rig rig(fabric::single_node(2));
  const auto id = rig.world().unique_id();
  const auto replies = rig.collective(wire::NcclItemKind::Init, [&](int rank) {
    return wire::NcclInit{{id.words[0], id.words[1]}, rank, 2, 0, 0};
  });
  EXPECT_EQ(replies.front().problem.code, Code::InvalidUsage);
  EXPECT_THAT(replies.front().problem.message, HasSubstr("duplicate GPU detected"));
}

TEST(Communicators, SplitOrdersByKeyAndLeavesOutNoColor) {
  Rig rig(fabric::single_node(4));
  rig.init();
  const auto replies = rig.collective(wire::NcclItemKind::Split, [&](int rank) {
    return wire::NcclSplit{rig.infos[static_cast<std::size_t>(rank)].comm, rank == 3 ? -1 : 5,
                           -rank};
  });
  const auto info = [&](std::size_t rank) {
    return *wire::read_front<wire::NcclCommInfo>(replies[rank].payload);
  };
  EXPECT_EQ(info(3).comm, 0U);
  EXPECT_EQ(info(0).ranks, 3);
  EXPECT_EQ(info(0).rank, 2);
  EXPECT_EQ(info(2).rank, 0);
}

TEST(Communicators, DifferentSetupCallsAreAMismatch) {
  Rig rig(fabric::single_node(2));
  rig.init();
  NcclReply first;
  NcclReply second;
  std::vector<std::byte> split;
  wire::append(split, wire::NcclSplit{rig.infos[0].comm, 0, 0});
  rig.world().serve(wire::NcclItemKind::Split, split, {0, [&](NcclReply r) { first = r; }});
  std::vector<std::byte> window;
  wire::append(window, wire::NcclWindowRegister{rig.infos[1].comm, 0, 0, 0, 0});
  rig.world().serve(wire::NcclItemKind::WindowRegister, window,
                    {1, [&](NcclReply r) { second = r; }});
  EXPECT_THAT(second.problem.message,
              HasSubstr("rank 1 calls ncclCommWindowRegister, rank 0 called ncclCommSplit"));
  EXPECT_EQ(first.problem.code, Code::InvalidUsage);
}

TEST(Communicators, AHandleOfAnotherProcessIsRefused) {
  Rig rig(fabric::single_node(2));
  rig.init();
  EXPECT_FALSE(rig.world().find(rig.infos[0].comm, 1));
  EXPECT_FALSE(rig.world().find(0xDEADBEEF, 0));
}

TEST(Communicators, ADeadRankBreaksThem) {
  Rig rig(fabric::single_node(2));
  rig.init();
  const auto a = rig.device_ints(0, {1});
  const WorkPtr work = submit(rig, 0, {operation(Kind::AllReduce, 1, a, a)});
  rig.world().process_ended(1, "rank 1 (pid 5, prog)");
  rig.run();
  EXPECT_TRUE(work->done());
  EXPECT_EQ(rig.place(0).clique->broken.code, Code::RemoteError);
  EXPECT_THAT(rig.log.front(), HasSubstr("rank 1 (pid 5, prog) ended"));
}

}  // namespace
}  // namespace cuco::vcluster
