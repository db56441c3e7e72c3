// SPDX-License-Identifier: Apache-2.0
#include "fabric/fabric.h"

#include <vector>

#include <gtest/gtest.h>

#include "fabric/collective_cost.h"

namespace cuco::fabric {
namespace {

Topology two_by_two() {
  Topology topology = single_node(2);
  topology.nodes = 2;
  topology.load_store = {100, 1000, 0, "nvlink"};  // 100 GB/s: 10 ps per byte
  topology.nic = Link{10, 5000, 0, "roce"};
  return topology;
}

TEST(Fabric, IdleTransferIsLatencyPlusBytes) {
  Fabric fabric(two_by_two());
  const Transfer near = fabric.transfer(Route::LoadStore, 0, 1, 100, 50);
  EXPECT_EQ(near.source_consumed, 50 + 1000);
  EXPECT_EQ(near.arrival, 50 + 1000 + 1000);
  EXPECT_EQ(fabric.transfer(Route::Nic, 0, 2, 100, 0).arrival, 5000 + 10000);
}

TEST(Fabric, TransfersOfOnePortQueue) {
  Fabric fabric(two_by_two());
  fabric.transfer(Route::Nic, 0, 2, 100, 0);
  EXPECT_EQ(fabric.transfer(Route::Nic, 0, 3, 100, 0).arrival, 10000 + 5000 + 10000);
}

TEST(Fabric, ReceiversPortIsShared) {
  Fabric fabric(two_by_two());
  const Time first = fabric.transfer(Route::Nic, 0, 2, 100, 0).arrival;
  EXPECT_EQ(fabric.transfer(Route::Nic, 1, 2, 100, 0).arrival, first + 10000);
}

TEST(Fabric, DisjointPairsDoNotContend) {
  Fabric fabric(two_by_two());
  const Time first = fabric.transfer(Route::LoadStore, 0, 1, 1000, 0).arrival;
  EXPECT_EQ(fabric.transfer(Route::LoadStore, 2, 3, 1000, 0).arrival, first);
}

TEST(Fabric, CollectiveWaitsForBusyPortsAndOccupiesThem) {
  Fabric fabric(two_by_two());
  fabric.transfer(Route::LoadStore, 0, 1, 100, 0);
  const std::vector<int> both = {0, 1};
  const Time end = fabric.collective(both, 0, 7000, 7000);
  EXPECT_GT(end, 7000);
  EXPECT_EQ(fabric.transfer(Route::LoadStore, 1, 0, 0, 0).source_consumed, end);
}

TEST(Fabric, PortsAreFreeWhileACollectiveOnlyWaits) {
  Fabric fabric(two_by_two());
  const std::vector<int> both = {0, 1};
  EXPECT_EQ(fabric.collective(both, 0, 7000, 2000), 7000);
  EXPECT_EQ(fabric.transfer(Route::LoadStore, 1, 0, 0, 0).source_consumed, 2000);
}

TEST(Fabric, CountsWhatTheLinksCarry) {
  Fabric fabric(two_by_two());
  fabric.transfer(Route::Local, 0, 0, 500, 0);
  EXPECT_EQ(fabric.carried_bytes(), 0);
  fabric.transfer(Route::LoadStore, 0, 1, 100, 0);
  fabric.transfer(Route::Nic, 0, 2, 50, 0);
  fabric.note_carried(25);
  EXPECT_EQ(fabric.carried_bytes(), 175);
  // 2000 ps of 10 ps a byte on two links.
  const std::vector<int> both = {0, 1};
  fabric.collective(both, 0, 7000, 2000);
  EXPECT_EQ(fabric.carried_bytes(), 175 + 400);
}

TEST(Fabric, SlowSendersShareAPort) {
  Fabric fabric(two_by_two());
  const Fabric::Limits limits{.gigabytes_per_second = 10, .port_gigabytes_per_second = 50};
  EXPECT_EQ(fabric.transfer(Route::LoadStore, 0, 1, 100, 0, limits).arrival, 1000 + 10000);
  EXPECT_EQ(fabric.transfer(Route::LoadStore, 0, 1, 100, 0, limits).arrival, 2000 + 1000 + 10000);
}

TEST(Fabric, EfficiencyIsWhatIsLeftForBytes) {
  Topology topology = two_by_two();
  topology.nic->efficiency = 0.5;
  EXPECT_EQ(Fabric(topology).transfer(Route::Nic, 0, 2, 100, 0).arrival, 5000 + 20000);
}

const hardware::NcclCosts kCosts;

CollectiveCost cost_of(const Topology& topology,
                       Pattern pattern,
                       const std::vector<int>& gpus,
                       std::uint64_t bytes) {
  return collective_cost({topology, kCosts}, pattern, gpus, bytes);
}

// What NCCL's tuner picks on eight H100: NVIDIA/nccl-tests issue 309.
TEST(CollectiveCost, SmallVectorsGoRoundARingAndBigOnesThroughTheSwitch) {
  const Topology topology = single_node(8);
  const std::vector<int> gpus = {0, 1, 2, 3, 4, 5, 6, 7};
  const CollectiveCost small = cost_of(topology, Pattern::AllReduce, gpus, 8);
  const CollectiveCost big = cost_of(topology, Pattern::AllReduce, gpus, 1U << 28U);
  EXPECT_LT(small.duration, big.duration);
  EXPECT_EQ(small.algorithm, "ring");
  EXPECT_EQ(small.protocol, "LL");
  EXPECT_EQ(small.channels, 1);
  EXPECT_EQ(big.algorithm, "nvls");
  EXPECT_EQ(big.channels, 16);
  Topology plain = topology;
  plain.multicast = false;
  const CollectiveCost ring = cost_of(plain, Pattern::AllReduce, gpus, 1U << 28U);
  EXPECT_EQ(ring.algorithm, "ring");
  EXPECT_EQ(ring.protocol, "Simple");
  EXPECT_EQ(ring.channels, 24);
}

TEST(CollectiveCost, NetworkIsSlowerThanTheSwitch) {
  Topology topology = single_node(4);
  topology.nodes = 2;
  const std::vector<int> inside = {0, 1, 2, 3};
  const std::vector<int> across = {0, 1, 4, 5};
  for (const Pattern pattern : {Pattern::AllReduce, Pattern::AllGather, Pattern::AllToAll}) {
    EXPECT_LT(cost_of(topology, pattern, inside, 1U << 24U).duration,
              cost_of(topology, pattern, across, 1U << 24U).duration);
  }
}

TEST(CollectiveCost, AcrossNodesTheNicsAreTheBound) {
  Topology topology = single_node(4);
  topology.nodes = 2;
  topology.nic = Link{.gigabytes_per_second = 50, .latency = 3'000'000};
  const std::vector<int> across = {0, 1, 2, 3, 4, 5, 6, 7};
  constexpr std::uint64_t kBytes = 1U << 28U;
  // Of two nodes, each sends its sum of half the vector and gets that of the other half.
  const CollectiveCost cost = cost_of(topology, Pattern::AllReduce, across, kBytes);
  EXPECT_GE(cost.duration, static_cast<Time>(double{kBytes} / (4 * 50) * 1000));
  const CollectiveCost gather = cost_of(topology, Pattern::AllGather, across, kBytes);
  EXPECT_GE(gather.duration, static_cast<Time>(7 * double{kBytes} / (4 * 50) * 1000));
}

TEST(CollectiveCost, OneThreadPaysForEachGpuThatItDrives) {
  EXPECT_EQ(host_time(kCosts, 8) - host_time(kCosts, 1), 7 * 4'400'000);
  EXPECT_LT(queue_gap(kCosts, true), queue_gap(kCosts, false));
}

}  // namespace
}  // namespace cuco::fabric
