// SPDX-License-Identifier: Apache-2.0
#include "loopback/network.h"

#include <gtest/gtest.h>

namespace cuco::loopback {
namespace {

using nccl_core::Kind;

constexpr const char* kTwoNodes =
    "name=ib\nnodes=2\ngpus_per_node=2\ndomain=node\n"
    "load_store_bytes_per_s=400000000000\nload_store_latency_ps=1000000\n"
    "nic=1\nnic_bytes_per_s=50000000000\nnic_latency_ps=2000000\nnic_gap_ps=100000\n"
    "gin_post_ps=1000000\nhost_bytes_per_s=50000000000\nhost_latency_ps=1000000\n";

Network two_nodes() {
  std::string problem;
  const auto network = parse_network(kTwoNodes, &problem);
  EXPECT_TRUE(network) << problem;
  return network.value_or(Network{});
}

TEST(Network, IsReadFromLines) {
  const Network network = two_nodes();
  EXPECT_EQ(network.name, "ib");
  EXPECT_EQ(network.gpus(), 4);
  EXPECT_EQ(network.domain_of(1), 0);
  EXPECT_EQ(network.domain_of(2), 1);
  ASSERT_TRUE(network.nic);
  EXPECT_EQ(network.nic->latency, 2000);
  EXPECT_EQ(network.nic->gap, 100);
  EXPECT_EQ(network.gin_post, 1000);
}

TEST(Network, NamesWhatItLacks) {
  std::string problem;
  EXPECT_FALSE(parse_network("name=x\nnodes=1\ngpus_per_node=two\ndomain=node\n", &problem));
  EXPECT_EQ(problem, "network: no number 'gpus_per_node'");
  EXPECT_FALSE(parse_network("nodes=1\ngpus_per_node=1\ndomain=rack\n", &problem));
  EXPECT_EQ(problem, "network: domain must be gpu, node or world: 'rack'");
  EXPECT_FALSE(parse_network("", &problem));
}

TEST(Pacer, APutTakesPostLatencyAndWire) {
  Pacer pacer(two_nodes());
  // 64 MiB at 50 GB/s, 1 us to post, 2 us on the way.
  EXPECT_EQ(pacer.put(0, 2, 64 << 20, 0), 1000 + 2000 + 1342178);
}

TEST(Pacer, PutsOfOneNicQueueAndThoseOfOthersDoNot) {
  Pacer pacer(two_nodes());
  const Nanoseconds first = pacer.put(0, 2, 1 << 20, 0);
  const Nanoseconds second = pacer.put(0, 3, 1 << 20, 0);
  const Nanoseconds other = pacer.put(1, 3, 1 << 20, 0);
  EXPECT_EQ(second - first, 20972);
  // It leaves with the first, but its receiver's port is busy with the second.
  EXPECT_EQ(other, second + 20972);
}

TEST(Pacer, NearRanksUseLoadStorePorts) {
  Pacer pacer(two_nodes());
  EXPECT_EQ(pacer.message(0, 1, 400'000, 0), 1000 + 1000);
  EXPECT_EQ(pacer.message(2, 2, 1'500'000, 0), 500 + 1000);
}

TEST(Pacer, SmallMessagesKeepTheGap) {
  Pacer pacer(two_nodes());
  const Nanoseconds first = pacer.message(0, 2, 8, 0);
  EXPECT_EQ(pacer.message(0, 2, 8, 0) - first, 100);
}

TEST(Pacer, CollectivesGoAroundTheRing) {
  Pacer pacer(two_nodes());
  const std::vector<int> all = {0, 1, 2, 3};
  // Three blocks of 1 MiB over the slowest link, three hops.
  const Nanoseconds gathered = pacer.collective(Kind::AllGather, all, 0, 1 << 20, 0);
  EXPECT_EQ(gathered, 2000 + 62915 + 2 * 2000);
  // The ports are busy until then.
  EXPECT_GT(pacer.put(1, 2, 8, 0), gathered - 3 * 2000);
  EXPECT_EQ(pacer.collective(Kind::AllReduce, {0}, 0, 1 << 20, 7), 7);
}

TEST(Pacer, AReductionMovesTwiceWhatAGatherOfItsPartsMoves) {
  Pacer gather(two_nodes());
  Pacer reduce(two_nodes());
  const std::vector<int> all = {0, 1, 2, 3};
  const Nanoseconds one = gather.collective(Kind::AllGather, all, 0, 64 << 20, 0);
  const Nanoseconds two = reduce.collective(Kind::AllReduce, all, 0, 256 << 20, 0);
  EXPECT_NEAR(static_cast<double>(two) / static_cast<double>(one), 2, 0.01);
}

TEST(WireBytes, AreWhatOneRankSends) {
  EXPECT_EQ(wire_bytes(Kind::AllGather, 4, false, 100), 300U);
  EXPECT_EQ(wire_bytes(Kind::AllReduce, 4, false, 100), 150U);
  EXPECT_EQ(wire_bytes(Kind::Gather, 4, true, 100), 0U);
  EXPECT_EQ(wire_bytes(Kind::Scatter, 4, true, 100), 300U);
  EXPECT_EQ(wire_bytes(Kind::Send, 4, false, 100), 100U);
}

TEST(PacingError, IsRelativeToTheModel) {
  PacingError error;
  error.add(1000, 1010);
  error.add(1000, 970);
  error.add(0, 5);  // Nothing to compare with.
  EXPECT_EQ(error.transfers(), 2U);
  EXPECT_NEAR(error.mean(), 0.02, 1e-9);
  EXPECT_NEAR(error.worst(), 0.03, 1e-9);
  EXPECT_NEAR(error.mean_off_us(), 0.02, 1e-9);
}

}  // namespace
}  // namespace cuco::loopback
