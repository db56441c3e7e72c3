// SPDX-License-Identifier: Apache-2.0
// Links of kernels: who carries what, and what is late.
#include "vcluster/device/kernel_ports.h"

#include <array>

#include <gtest/gtest.h>

#include "fabric/topology.h"

namespace cuco::vcluster {
namespace {

using vgpu::RemoteRequest;
using vgpu::VTime;

fabric::Topology four_gpus() {
  return fabric::single_node(4);
}

constexpr std::uint64_t kPortBytes = 1U << 20U;

TEST(KernelPorts, AMulticastUsesTheSendersLinkOnce) {
  constexpr std::array<std::uint8_t, 1> one{1};
  constexpr std::array<std::uint8_t, 4> all{0, 1, 2, 3};
  fabric::Fabric fabric(four_gpus());
  KernelPorts single(fabric);
  KernelPorts several(fabric);
  KernelPorts copies(fabric);
  const VTime to_one = single.access(0, {.owners = one, .bytes = kPortBytes, .store = true});
  const VTime to_all = several.access(0, {.owners = all, .bytes = kPortBytes, .store = true});
  VTime one_by_one = 0;
  for (const std::uint8_t owner : all)
    one_by_one = copies.access(0, {.owners = {&owner, 1}, .bytes = kPortBytes, .store = true});
  EXPECT_LE(to_all, to_one + to_one / 4);
  EXPECT_GT(one_by_one, 2 * to_one);
}

TEST(KernelPorts, AReductionWaitsForEveryMembersLink) {
  constexpr std::array<std::uint8_t, 3> members{0, 1, 2};
  constexpr std::array<std::uint8_t, 1> busy{2};
  fabric::Fabric fabric(four_gpus());
  KernelPorts ports(fabric);
  const RemoteRequest request{.owners = members, .bytes = kPortBytes};
  KernelPorts idle(fabric);
  const VTime alone = idle.access(0, request);
  (void)ports.access(3, {.owners = busy, .bytes = kPortBytes});  // Member 2 sends to another GPU.
  EXPECT_GT(ports.access(0, request), alone + alone / 4);
}

// What a port sends and gets are two things, but loads ask, and asking is sending.
TEST(KernelPorts, RequestsTakeRoomOfWhatIsSentTheOtherWay) {
  constexpr std::array<std::uint8_t, 1> peer{1};
  fabric::Fabric fabric(four_gpus());
  KernelPorts idle(fabric);
  const VTime alone = idle.access(0, {.owners = peer, .bytes = kPortBytes, .store = true});
  KernelPorts ports(fabric);
  (void)ports.access(0, {.owners = peer, .bytes = 8 * kPortBytes});
  const VTime behind = ports.access(0, {.owners = peer, .bytes = kPortBytes, .store = true});
  EXPECT_GT(behind, 2 * alone);
  EXPECT_LT(behind, 4 * alone);
}

TEST(KernelPorts, AStoreTakesTheWayAndALoadTheWayBackToo) {
  constexpr std::array<std::uint8_t, 1> peer{1};
  fabric::Fabric fabric(four_gpus());
  KernelPorts ports(fabric);
  const VTime way = fabric.topology().load_store.latency;
  EXPECT_GE(ports.access(0, {.owners = peer, .bytes = 32, .store = true}), way);
  EXPECT_GE(ports.access(0, {.owners = peer, .bytes = 32}), way + way / 2);
}

TEST(KernelPorts, CopiesThatArriveByThemselvesAreDeliveries) {
  constexpr std::array<std::uint8_t, 1> peer{1};
  constexpr VTime kDelay = 100 * vgpu::kMicrosecond;
  fabric::Fabric fabric(four_gpus());
  fabric.set_lateness({.always = kDelay});
  KernelPorts ports(fabric);
  const VTime stored = ports.access(0, {.owners = peer, .bytes = 128, .store = true});
  EXPECT_EQ(fabric.deliveries(), 0U);
  const VTime copied =
      ports.access(0, {.owners = peer, .bytes = 128, .store = true, .asynchronous = true});
  EXPECT_EQ(fabric.deliveries(), 1U);
  EXPECT_GE(copied, stored + kDelay);
}

}  // namespace
}  // namespace cuco::vcluster
