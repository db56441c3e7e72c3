// SPDX-License-Identifier: Apache-2.0
// Streams, events and graphs on the server alone: copies are the work.
#include <gtest/gtest.h>

#include "fake_client.h"
#include "shims/wire/messages_graph.h"
#include "shims/wire/messages_memory.h"
#include "shims/wire/messages_stream.h"

namespace cuco::vcluster {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{64} << 20U;

class Streams : public testing::Test {
 protected:
  Streams() : cluster(make_cluster()), client(*cluster) {
    wire::Allocate::Reply reply;
    EXPECT_EQ(client.call(wire::Allocate{.bytes = 2 * kBytes}, &reply), wire::kSuccess);
    memory = reply.address;
  }

  std::uint64_t make_stream(std::uint32_t flags = 0) {
    wire::StreamCreate::Reply reply;
    EXPECT_EQ(client.call(wire::StreamCreate{.flags = flags}, &reply), wire::kSuccess);
    return reply.stream;
  }
  std::uint64_t make_event() {
    wire::EventCreate::Reply reply;
    EXPECT_EQ(client.call(wire::EventCreate{}, &reply), wire::kSuccess);
    return reply.event;
  }
  std::int32_t fill(std::uint64_t stream, std::uint32_t value, std::uint64_t bytes = kBytes) {
    return client.call(wire::Fill{.stream = {.stream = stream},
                                  .address = memory,
                                  .pitch = bytes,
                                  .slice = bytes,
                                  .width = bytes,
                                  .value = value});
  }
  std::int32_t record(std::uint64_t event, std::uint64_t stream) {
    return client.call(wire::EventRecord{.stream = {.stream = stream}, .event = event});
  }
  std::int32_t wait(std::uint64_t stream, std::uint64_t event) {
    return client.call(wire::StreamWaitEvent{.stream = {.stream = stream}, .event = event});
  }
  std::int32_t query(std::uint64_t event) { return client.call(wire::EventQuery{.event = event}); }
  int first_byte() { return std::to_integer<int>(*vgpu::Memory::at(memory)); }

  std::unique_ptr<Cluster> cluster;
  FakeClient client;
  std::uint64_t memory = 0;
};

TEST_F(Streams, AsynchronousWorkTakesVirtualTime) {
  const std::uint64_t stream = make_stream();
  const std::uint64_t event = make_event();
  ASSERT_EQ(fill(stream, 7), wire::kSuccess);
  ASSERT_EQ(record(event, stream), wire::kSuccess);
  EXPECT_EQ(query(event), wire::kNotReady);
  EXPECT_EQ(first_byte(), 0);
  const VTime before = client.clock();
  EXPECT_EQ(client.call(wire::EventSynchronize{.event = event}), wire::kSuccess);
  EXPECT_GT(client.clock(), before + 10 * vgpu::kMicrosecond);
  EXPECT_EQ(first_byte(), 7);
  EXPECT_EQ(query(event), wire::kSuccess);
}

TEST_F(Streams, AnEventOrdersTwoStreams) {
  const std::uint64_t a = make_stream();
  const std::uint64_t b = make_stream();
  const std::uint64_t event = make_event();
  ASSERT_EQ(fill(a, 1), wire::kSuccess);
  ASSERT_EQ(record(event, a), wire::kSuccess);
  ASSERT_EQ(wait(b, event), wire::kSuccess);
  ASSERT_EQ(fill(b, 2, 1), wire::kSuccess);
  EXPECT_EQ(client.call(wire::StreamSynchronize{.stream = {.stream = b}}), wire::kSuccess);
  EXPECT_EQ(first_byte(), 2);
}

TEST_F(Streams, TheDefaultStreamWaitsForBlockingStreamsOnly) {
  const std::uint64_t blocking = make_stream();
  const std::uint64_t other = make_stream(1);
  ASSERT_EQ(fill(blocking, 1), wire::kSuccess);
  ASSERT_EQ(fill(0, 2, 1), wire::kSuccess);
  EXPECT_EQ(client.call(wire::StreamSynchronize{.stream = {.stream = 0}}), wire::kSuccess);
  EXPECT_EQ(first_byte(), 2);
  ASSERT_EQ(fill(blocking, 3), wire::kSuccess);
  ASSERT_EQ(fill(other, 4, 1), wire::kSuccess);
  EXPECT_EQ(client.call(wire::StreamSynchronize{.stream = {.stream = other}}), wire::kSuccess);
  EXPECT_EQ(first_byte(), 4);
  EXPECT_EQ(client.call(wire::StreamQuery{.stream = {.stream = blocking}}), wire::kNotReady);
}

TEST_F(Streams, UnknownHandlesAreRefusedByCode) {
  EXPECT_EQ(client.call(wire::StreamSynchronize{.stream = {.stream = 999}}),
            wire::kInvalidResourceHandle);
  EXPECT_EQ(query(12345), wire::kInvalidResourceHandle);
  EXPECT_EQ(client.call(wire::StreamSynchronize{.stream = {.stream = 0, .device = 5}}),
            wire::kInvalidResourceHandle);
}

TEST_F(Streams, CaptureRecordsInsteadOfRunning) {
  const std::uint64_t a = make_stream();
  const std::uint64_t b = make_stream();
  const std::uint64_t fork = make_event();
  const std::uint64_t join = make_event();
  ASSERT_EQ(client.call(wire::CaptureBegin{.stream = {.stream = a}}), wire::kSuccess);
  ASSERT_EQ(fill(a, 5), wire::kSuccess);
  ASSERT_EQ(record(fork, a), wire::kSuccess);
  ASSERT_EQ(wait(b, fork), wire::kSuccess);
  ASSERT_EQ(fill(b, 6), wire::kSuccess);
  ASSERT_EQ(record(join, b), wire::kSuccess);
  ASSERT_EQ(wait(a, join), wire::kSuccess);
  wire::CaptureEnd::Reply captured;
  ASSERT_EQ(client.call(wire::CaptureEnd{.stream = {.stream = a}}, &captured), wire::kSuccess);
  EXPECT_EQ(first_byte(), 0);
  wire::GraphList::Reply list;
  ASSERT_EQ(client.call(wire::GraphList{.what = wire::GraphList::kEdges, .object = captured.graph},
                        &list),
            wire::kSuccess);
  EXPECT_EQ(list.count, 2U);  // one edge, two ends
  wire::GraphInstantiate::Reply made;
  ASSERT_EQ(client.call(wire::GraphInstantiate{.graph = captured.graph}, &made), wire::kSuccess);
  ASSERT_EQ(client.call(wire::GraphLaunch{.stream = {.stream = a}, .exec = made.exec}),
            wire::kSuccess);
  EXPECT_EQ(client.call(wire::StreamSynchronize{.stream = {.stream = a}}), wire::kSuccess);
  EXPECT_EQ(first_byte(), 6);
}

TEST_F(Streams, AnUnjoinedCaptureFails) {
  const std::uint64_t a = make_stream();
  const std::uint64_t b = make_stream();
  const std::uint64_t fork = make_event();
  ASSERT_EQ(client.call(wire::CaptureBegin{.stream = {.stream = a}}), wire::kSuccess);
  ASSERT_EQ(record(fork, a), wire::kSuccess);
  ASSERT_EQ(wait(b, fork), wire::kSuccess);
  ASSERT_EQ(fill(b, 6), wire::kSuccess);
  EXPECT_EQ(client.call(wire::CaptureEnd{.stream = {.stream = a}}), wire::kStreamCaptureUnjoined);
}

TEST_F(Streams, WaitingInACaptureInvalidatesIt) {
  const std::uint64_t a = make_stream();
  ASSERT_EQ(client.call(wire::CaptureBegin{.stream = {.stream = a}}), wire::kSuccess);
  EXPECT_EQ(client.call(wire::StreamSynchronize{.stream = {.stream = a}}),
            wire::kStreamCaptureUnsupported);
  EXPECT_EQ(client.call(wire::CaptureEnd{.stream = {.stream = a}}),
            wire::kStreamCaptureInvalidated);
  EXPECT_EQ(fill(a, 1, 1), wire::kSuccess);
}

TEST_F(Streams, AGraphWithACycleIsRefused) {
  wire::GraphCreate::Reply graph;
  ASSERT_EQ(client.call(wire::GraphCreate{}, &graph), wire::kSuccess);
  std::uint64_t nodes[2] = {};
  for (std::uint64_t& node : nodes) {
    wire::GraphAddNode::Reply reply;
    ASSERT_EQ(client.call(wire::GraphAddNode{.graph = graph.graph}, &reply), wire::kSuccess);
    node = reply.node;
  }
  const std::uint64_t pairs[4] = {nodes[0], nodes[1], nodes[1], nodes[0]};
  ASSERT_EQ(client.call(wire::GraphEdit{.graph = graph.graph, .count = 2}, nullptr,
                        std::as_bytes(std::span(pairs))),
            wire::kSuccess);
  EXPECT_EQ(client.call(wire::GraphInstantiate{.graph = graph.graph}), wire::kInvalidValue);
}

TEST(Order, TwoRunsAreIdentical) {
  const auto run = [] {
    const auto other = make_cluster(2);
    FakeClient one(*other, 1);
    FakeClient two(*other, 2);
    std::vector<VTime> clocks;
    for (int i = 0; i < 20; ++i) {
      one.send(wire::StreamCreate{});
      two.send(wire::StreamCreate{.device = 1});
      while (!(one.answered() && two.answered()) && other->advance()) {
      }
      clocks.push_back(one.clock());
      clocks.push_back(two.clock());
    }
    return clocks;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace cuco::vcluster
