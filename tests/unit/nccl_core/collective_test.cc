// SPDX-License-Identifier: Apache-2.0
#include "nccl_core/collective.h"

#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::nccl_core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<std::int32_t>;

std::uint64_t address(const Values& values, std::size_t offset = 0) {
  return reinterpret_cast<std::uint64_t>(values.data() + offset);
}

/// Three ranks, two elements a block; rank r sends r*100, r*100+1, ...
struct World {
  std::vector<Values> send, recv;
  std::vector<Call> calls;

  explicit World(Kind kind, std::int32_t root = 1) {
    for (int r = 0; r < 3; ++r) {
      send.emplace_back(6);
      std::iota(send.back().begin(), send.back().end(), r * 100);
      recv.emplace_back(6, -1);
    }
    for (std::size_t r = 0; r < 3; ++r) {
      calls.push_back(
          {kind, DataType::Int32, ReduceOp::Sum, root, 2, address(send[r]), address(recv[r]), {}});
    }
  }
  void run() { perform(calls); }
};

TEST(Collective, AllReduceSumsEverywhere) {
  World world(Kind::AllReduce);
  world.run();
  for (const Values& recv : world.recv)
    EXPECT_THAT(recv, ElementsAre(300, 303, -1, -1, -1, -1));
}

TEST(Collective, ReduceWritesTheRootOnly) {
  World world(Kind::Reduce);
  world.run();
  EXPECT_THAT(world.recv[1], ElementsAre(300, 303, -1, -1, -1, -1));
  EXPECT_EQ(world.recv[0][0], -1);
}

TEST(Collective, BroadcastCopiesTheRoot) {
  World world(Kind::Broadcast);
  world.run();
  for (const Values& recv : world.recv)
    EXPECT_THAT(recv, ElementsAre(100, 101, -1, -1, -1, -1));
}

TEST(Collective, AllGatherOrdersBlocksByRank) {
  World world(Kind::AllGather);
  world.run();
  for (const Values& recv : world.recv)
    EXPECT_THAT(recv, ElementsAre(0, 1, 100, 101, 200, 201));
}

TEST(Collective, AllGatherInPlace) {
  World world(Kind::AllGather);
  for (std::size_t r = 0; r < 3; ++r) {
    world.recv[r][2 * r] = static_cast<std::int32_t>(r);
    world.recv[r][2 * r + 1] = static_cast<std::int32_t>(r);
    world.calls[r].send = address(world.recv[r], 2 * r);
  }
  world.run();
  for (const Values& recv : world.recv)
    EXPECT_THAT(recv, ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(Collective, ReduceScatterInPlaceAndNot) {
  World world(Kind::ReduceScatter);
  world.run();
  EXPECT_THAT(world.recv[2], ElementsAre(312, 315, -1, -1, -1, -1));
  World in_place(Kind::ReduceScatter);
  for (std::size_t r = 0; r < 3; ++r)
    in_place.calls[r].recv = address(in_place.send[r], 2 * r);
  in_place.run();
  EXPECT_EQ(in_place.send[0][0], 300);
  EXPECT_EQ(in_place.send[1][2], 306);
  EXPECT_EQ(in_place.send[2][5], 315);
}

TEST(Collective, AllToAllTransposesAlsoInPlace) {
  World world(Kind::AllToAll);
  world.run();
  EXPECT_THAT(world.recv[1], ElementsAre(2, 3, 102, 103, 202, 203));
  World in_place(Kind::AllToAll);
  for (std::size_t r = 0; r < 3; ++r)
    in_place.calls[r].recv = in_place.calls[r].send;
  in_place.run();
  EXPECT_THAT(in_place.send[1], ElementsAre(2, 3, 102, 103, 202, 203));
}

TEST(Collective, GatherAndScatter) {
  World gather(Kind::Gather);
  gather.run();
  EXPECT_THAT(gather.recv[1], ElementsAre(0, 1, 100, 101, 200, 201));
  World scatter(Kind::Scatter);
  scatter.run();
  EXPECT_THAT(scatter.recv[2], ElementsAre(104, 105, -1, -1, -1, -1));
}

TEST(Collective, RangesFollowTheKind) {
  const World world(Kind::ReduceScatter);
  EXPECT_EQ(read_range(world.calls[0], 0, 3).bytes, 24U);
  EXPECT_EQ(write_range(world.calls[0], 0, 3).bytes, 8U);
  const World reduce(Kind::Reduce, 2);
  EXPECT_EQ(write_range(reduce.calls[0], 0, 3).bytes, 0U);
  EXPECT_EQ(write_range(reduce.calls[2], 2, 3).bytes, 8U);
}

TEST(Collective, ArgumentsAreCheckedWithNcclsCodes) {
  Call call;
  EXPECT_FALSE(check_arguments(call, 2));
  call.type = static_cast<DataType>(12);
  EXPECT_EQ(check_arguments(call, 2)->code, Code::InvalidArgument);
  call = {};
  call.kind = Kind::Broadcast;
  call.root = 2;
  EXPECT_THAT(check_arguments(call, 2)->message, HasSubstr("root must be in [0, 2): 2"));
}

TEST(Collective, DisagreementNamesBothRanksAndCalls) {
  Call mine;
  Call theirs;
  EXPECT_FALSE(check_agreement(mine, 0, theirs, 1));
  theirs.count = 7;
  const Check check = check_agreement(mine, 0, theirs, 3);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->code, Code::InvalidUsage);
  EXPECT_THAT(check->message, HasSubstr("the counts differ: rank 0 calls ncclAllReduce(count 0"));
  EXPECT_THAT(check->message, HasSubstr("rank 3 calls ncclAllReduce(count 7"));
  theirs = {};
  theirs.kind = Kind::AllGather;
  EXPECT_THAT(check_agreement(mine, 0, theirs, 1)->message, HasSubstr("different collectives"));
}

}  // namespace
}  // namespace cuco::nccl_core
