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
  const Time end = fabric.collective(both, 0, 7000);
  EXPECT_GT(end, 7000);
  EXPECT_EQ(fabric.transfer(Route::LoadStore, 1, 0, 0, 0).source_consumed, end);
}

TEST(CollectiveCost, GrowsWithBytesAndPrefersTheSwitchForBigVectors) {
  const Topology topology = single_node(8);
  const std::vector<int> gpus = {0, 1, 2, 3, 4, 5, 6, 7};
  const CollectiveCost small = collective_cost(topology, Pattern::AllReduce, gpus, 8);
  const CollectiveCost big = collective_cost(topology, Pattern::AllReduce, gpus, 1U << 28U);
  EXPECT_LT(small.duration, big.duration);
  EXPECT_EQ(big.algorithm, "nvls");
  Topology plain = topology;
  plain.multicast = false;
  EXPECT_EQ(collective_cost(plain, Pattern::AllReduce, gpus, 1U << 28U).algorithm, "ring");
  EXPECT_EQ(collective_cost(plain, Pattern::AllReduce, gpus, 8).algorithm, "tree");
}

TEST(CollectiveCost, NetworkIsSlowerThanTheSwitch) {
  Topology topology = single_node(4);
  topology.nodes = 2;
  const std::vector<int> inside = {0, 1, 2, 3};
  const std::vector<int> across = {0, 1, 4, 5};
  for (const Pattern pattern : {Pattern::AllReduce, Pattern::AllGather, Pattern::AllToAll}) {
    EXPECT_LT(collective_cost(topology, pattern, inside, 1U << 24U).duration,
              collective_cost(topology, pattern, across, 1U << 24U).duration);
  }
}

TEST(CollectiveCost, AcrossNodesTheNicsAreTheBoundAndNoSwitchHelps) {
  Topology topology = single_node(4);
  topology.nodes = 2;
  topology.nic = Link{.gigabytes_per_second = 50, .latency = 3'000'000};
  const std::vector<int> across = {0, 1, 2, 3, 4, 5, 6, 7};
  constexpr std::uint64_t kBytes = 1U << 28U;
  const CollectiveCost cost = collective_cost(topology, Pattern::AllReduce, across, kBytes);
  EXPECT_EQ(cost.algorithm, "ring");
  // Four NICs a node carry 2 (n-1)/n of the vector; picoseconds at gigabytes a second.
  EXPECT_GE(cost.duration, static_cast<Time>(2 * 7.0 / 8 * kBytes / (4 * 50) * 1000));
}

}  // namespace
}  // namespace cuco::fabric
