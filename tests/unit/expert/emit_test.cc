// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expert/emit/fused_gather.h"

namespace cuco::expert::emit {
namespace {
using design::Backend;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

Request request_for(Collective collective) {
  Request request{.name = "gather_rows", .collective = collective};
  request.expressions = {"rows", "all", "n", "0", "stream", "comm", "state.gather"};
  return request;
}

std::string reason_of(const Request& request) {
  const auto emitted = emit(request);
  return emitted ? "" : emitted.error().message();
}

TEST(Emit, ReplacesTheCallByAnExpressionOfTheSameType) {
  const auto emitted = emit(request_for(Collective::AllGather));
  ASSERT_TRUE(emitted);
  EXPECT_EQ(emitted->call, "gather_rows(state.gather, rows, all, n, stream)");
  EXPECT_EQ(emitted->member, "cuco::Site gather;");
  EXPECT_EQ(emitted->setup, "cuco::open<cuco::Path::Lsa>(&comm, 1, {32, 65536}, &state.gather)");
  EXPECT_EQ(emitted->teardown, "cuco::close<cuco::Path::Lsa>(&state.gather, 1)");
  EXPECT_THAT(emitted->code, HasSubstr("ncclResult_t gather_rows("));
  EXPECT_THAT(emitted->code, Not(HasSubstr("{{")));
}

TEST(Emit, SharesOnlyTheBuffersThatPeersReach) {
  auto request = request_for(Collective::AllGather);
  request.buffers = Buffers::Windows;
  const auto emitted = emit(request);
  ASSERT_TRUE(emitted);
  ASSERT_EQ(emitted->buffers.size(), 1);
  EXPECT_EQ(emitted->buffers[0].allocate,
            "cuco::allocate(comm, &all, {bytes}, &state.gather_recv)");
  EXPECT_EQ(emitted->call, "gather_rows(state.gather, rows, state.gather_recv, all, n, stream)");
  EXPECT_THAT(emitted->preconditions, Contains(Field(&Precondition::subject, "all")));

  request.backend = Backend::Gin;  // the network card reads from a window as well
  EXPECT_EQ(emit(request)->buffers.size(), 2);
  request.in_place = true;
  EXPECT_EQ(emit(request)->buffers.size(), 1);
}

TEST(Emit, ReplacesMessagesOneByOne) {
  const auto emitted = emit(request_for(Collective::Exchange));
  ASSERT_TRUE(emitted);
  EXPECT_EQ(emitted->group.send, "state.gather_group.send({data}, {count}, {peer})");
  EXPECT_EQ(emitted->call, "gather_rows(state.gather, state.gather_group, stream)");
}

TEST(Emit, SetsUpAllGpusOfAThreadAtOnce) {
  auto request = request_for(Collective::AllReduce);
  request.expressions.site = "sites[i]";
  request.expressions.devices = "n";
  request.expressions.comms = "comms";
  request.expressions.sites = "sites";
  const auto emitted = emit(request);
  ASSERT_TRUE(emitted);
  EXPECT_EQ(emitted->setup, "cuco::open<cuco::Path::Lsa>(comms, n, {32, 65536}, sites)");
  EXPECT_EQ(emitted->teardown, "cuco::close<cuco::Path::Lsa>(sites, n)");
  request.buffers = Buffers::Windows;
  EXPECT_THAT(reason_of(request), HasSubstr("one thread"));
}

TEST(Emit, SaysWhyThereIsNoSuchCode) {
  auto request = request_for(Collective::AllReduce);
  request.backend = Backend::Multimem;
  request.reduction = Reduction::Max;
  EXPECT_EQ(reason_of(request), "the switch has no Max of float");
  request.backend = Backend::Gin;
  request.buffers = Buffers::Windows;
  EXPECT_THAT(reason_of(request), HasSubstr("does not reduce"));
  request.backend = Backend::Lsa;
  request.in_place = true;
  EXPECT_THAT(reason_of(request), HasSubstr("overwrite"));
  request.shots = Shots::Two;
  EXPECT_EQ(reason_of(request), "");
  request.box_bytes = 100;
  EXPECT_EQ(reason_of(request), "a box is a multiple of 16 bytes");
}

TEST(Emit, StatesWhatMustHold) {
  auto request = request_for(Collective::Broadcast);
  request.backend = Backend::Hybrid;
  const auto emitted = emit(request);
  ASSERT_TRUE(emitted);
  std::vector<std::string> texts;
  for (const auto& need : emitted->preconditions)
    texts.push_back(to_text(need));
  EXPECT_THAT(texts, Contains("nodes have the same number of ranks, which are consecutive"));
  EXPECT_THAT(texts, Contains("8 MiB of symmetric memory for each rank of the communicator"));
  EXPECT_THAT(texts, Not(Contains("all ranks reach each other by load and store")));
}

TEST(EmitFused, AddsToTheKernelsThatMakeAndReadTheData) {
  FusedGather request{.name = "gather",
                      .waiting = Waiting::Consumer,
                      .tiles = {"m", "n", "64", "kTile / 2", "blockIdx.y", "blockIdx.x"},
                      .block_rows = 2,
                      .output = "c",
                      .source = "p",
                      .first_row = "0",
                      .row_count = "m"};
  request.expressions = {"", "all", "m * n", "", "stream", "comm", "state->gather"};
  const auto emitted = emit(request);
  ASSERT_TRUE(emitted);
  EXPECT_EQ(emitted->call, "ncclSuccess");
  EXPECT_EQ(emitted->setup, "cuco::open<cuco::Path::Lsa>(&comm, 1, {65, 0}, &state->gather)");
  EXPECT_EQ(emitted->producer.arguments,
            "state->gather, cuco::place_of(state->gather_recv, all + "
            "(size_t)state->gather.comm.rank * (m * n))");
  EXPECT_EQ(emitted->producer.prologue,
            "cuco::Sender<cuco::Path::Lsa> gather_sender(gather_site, "
            "{(size_t)m, (size_t)n, 64, (size_t)(kTile / 2), 2});");
  EXPECT_EQ(emitted->producer.epilogue,
            "gather_sender.tile_done<float>(gather_slice, c, blockIdx.y, blockIdx.x, false);");
  EXPECT_THAT(emitted->consumer.prologue, HasSubstr("await_rows(p, 0, m)"));
  EXPECT_THAT(emitted->preconditions, Contains(Field(&Precondition::need, Need::OneReader)));

  request.waiting = Waiting::Between;
  EXPECT_EQ(emit(request)->call, "gather(state->gather, stream)");
  EXPECT_TRUE(emit(request)->consumer.prologue.empty());
}

}  // namespace
}  // namespace cuco::expert::emit
