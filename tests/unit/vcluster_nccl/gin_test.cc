// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "rig.h"

namespace cuco::vcluster {
namespace {

namespace abi = nccl_core::abi_2_28;
using nccl_core::GinDescriptor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
T load(vgpu::Address address) {
  T value;
  std::memcpy(&value, vgpu::Memory::at(address), sizeof value);
  return value;
}

/// Two or more ranks with one window and one device communicator.
struct GinRig : Rig {
  explicit GinRig(fabric::Topology topology = fabric::single_node(2),
                  const fabric::Lateness& lateness = {})
      : Rig(std::move(topology), lateness) {
    init();
    data = window(1U << 20U);
    comms = dev_comms({.gin_signals = 4, .gin_counters = 2});
    number = load<abi::Window>(windows[0]).gin_wins[0];
  }

  [[nodiscard]] abi::GinProxyContext context(int rank, int index = 0) const {
    return load<abi::GinProxyContext>(comms[static_cast<std::size_t>(rank)].gin_handles[index]);
  }

  /// Posts as the device headers do: claim a slot, write the descriptor, ring no bell.
  void post(int rank, int peer, const GinDescriptor& descriptor, int context_index = 0) {
    const abi::GinProxyContext proxy = context(rank, context_index);
    const vgpu::Address index = proxy.producer_indices + static_cast<std::uint64_t>(peer) * 4;
    const auto claimed = load<std::uint32_t>(index);
    const std::uint32_t next = claimed + 1;
    std::memcpy(vgpu::Memory::at(index), &next, 4);
    const vgpu::Address slot =
        proxy.queues +
        (static_cast<std::uint64_t>(peer) * proxy.queue_size + claimed % proxy.queue_size) * 64;
    const nccl_core::GinWords words = nccl_core::encode(descriptor);
    for (std::size_t i = 0; i < words.size(); i += 2) {
      std::memcpy(vgpu::Memory::at(slot) + i * 8, &words[i], 16);
      memory().notify_write(slot + i * 8, 16, timeline().now());
    }
  }

  GinDescriptor put(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) const {
    GinDescriptor result;
    result.bytes = bytes;
    result.source_window = result.destination_window = number;
    result.source_offset = from;
    result.destination_offset = to;
    return result;
  }

  std::vector<vgpu::Address> data;
  std::vector<abi::DevComm> comms;
  std::uint64_t number = 0;
};

TEST(Gin, PutSignalCounterAndCreditArriveInOrder) {
  GinRig rig;
  const int value = 42;
  std::memcpy(vgpu::Memory::at(rig.data[0]), &value, 4);
  GinDescriptor put = rig.put(0, 4096, 4);
  put.signal = 1;
  put.signal_value = 1;
  put.counter = 1;
  rig.post(0, 1, put);
  std::vector<std::string> order;
  const abi::GinProxyContext sender = rig.context(0);
  const abi::GinProxyContext receiver = rig.context(1);
  const auto note = [&](vgpu::Address address, std::uint64_t bytes, std::string what) {
    rig.memory().watch(address, bytes, [&order, what](VTime) { order.push_back(what); });
  };
  note(rig.data[1] + 4096, 4, "payload");
  note(receiver.signals + 8, 8, "signal");
  note(sender.counters + 8, 8, "counter");
  note(sender.consumer_indices + 4, 4, "credit");
  rig.run();
  EXPECT_THAT(order, ElementsAre("payload", "signal", "counter", "credit"));
  EXPECT_EQ(load<int>(rig.data[1] + 4096), 42);
  EXPECT_EQ(load<std::uint64_t>(receiver.signals + 8), 1U);
  EXPECT_EQ(load<std::uint64_t>(sender.counters + 8), 1U);
  EXPECT_EQ(load<std::uint32_t>(sender.consumer_indices + 4), 1U);
}

TEST(Gin, SignalsWaitForAllEarlierPutsOfTheirContextAndPeer) {
  // With random delays the puts arrive in any order; a signal may never overtake one.
  GinRig rig(fabric::single_node(2), {.most = 1'000'000'000, .seed = 7});
  int arrived = 0;
  bool early = false;
  for (int i = 0; i < 50; ++i) {
    GinDescriptor put = rig.put(0, static_cast<std::uint64_t>(i) * 64, 64);
    rig.memory().watch(rig.data[1] + static_cast<std::uint64_t>(i) * 64, 64,
                       [&](VTime) { ++arrived; });
    if (i % 10 == 9) {
      put.signal = 0;
      put.signal_value = 1;
    }
    rig.post(0, 1, put);
  }
  const abi::GinProxyContext receiver = rig.context(1);
  rig.memory().watch(receiver.signals, 8, [&](VTime) {
    const auto signals = static_cast<int>(load<std::uint64_t>(receiver.signals));
    early = early || arrived < signals * 10;
  });
  rig.run();
  EXPECT_FALSE(early);
  EXPECT_EQ(arrived, 50);
  EXPECT_EQ(load<std::uint64_t>(receiver.signals), 5U);
  EXPECT_EQ(load<std::uint32_t>(rig.context(0).consumer_indices + 4), 50U);
}

TEST(Gin, JitterReordersPutsAndRepeatsBitForBit) {
  const auto order_with = [](std::uint64_t seed) {
    GinRig rig(fabric::single_node(2), {.most = 1'000'000'000, .seed = seed});
    std::vector<int> order;
    for (int i = 0; i < 8; ++i) {
      rig.memory().watch(rig.data[1] + static_cast<std::uint64_t>(i) * 64, 64,
                         [&order, i](VTime) { order.push_back(i); });
      rig.post(0, 1, rig.put(0, static_cast<std::uint64_t>(i) * 64, 64));
    }
    rig.run();
    return order;
  };
  EXPECT_THAT(order_with(0x51), ::testing::Not(ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)));
  EXPECT_EQ(order_with(0x51), order_with(0x51));
  EXPECT_NE(order_with(0x51), order_with(0x52));
}

TEST(Gin, ValuesTravelInline) {
  GinRig rig;
  GinDescriptor put = rig.put(0, 8, 8);
  put.is_inline = true;
  put.value = 0x1122334455667788;
  put.signal = 2;
  put.signal_value = 5;
  rig.post(0, 1, put);
  rig.run();
  EXPECT_EQ(load<std::uint64_t>(rig.data[1] + 8), put.value);
  EXPECT_EQ(load<std::uint64_t>(rig.context(1).signals + 16), 5U);
  ASSERT_EQ(rig.log.size(), 1U);
  EXPECT_THAT(rig.log.front(), HasSubstr("loses the signal; fixed in 2.29.7"));
}

TEST(Gin, ManyPutsWrapTheQueue) {
  GinRig rig;
  for (int i = 0; i < 300; ++i) {
    GinDescriptor put = rig.put(0, 0, 4);
    put.signal = 0;
    put.signal_value = 1;
    rig.post(0, 1, put);
    if (i % 100 == 99) rig.run();
  }
  rig.run();
  EXPECT_EQ(load<std::uint64_t>(rig.context(1).signals), 300U);
}

TEST(Gin, WrongDescriptorsFailTheDevice) {
  GinRig rig;
  rig.post(0, 1, rig.put(0, (1U << 20U) - 2, 4));
  rig.run();
  ASSERT_EQ(rig.failures.size(), 1U);
  EXPECT_THAT(rig.failures.front(), HasSubstr("rank 0 to rank 1"));
  EXPECT_THAT(rig.failures.front(), HasSubstr("past the end of the destination window"));
  GinDescriptor signal = rig.put(0, 0, 0);
  signal.signal = 9;
  signal.signal_value = 1;
  rig.post(0, 1, signal);
  rig.run();
  EXPECT_THAT(rig.failures.back(), HasSubstr("signal 9 does not exist"));
}

TEST(DevComm, IsFilledAsTheHeadersReadIt) {
  fabric::Topology topology = fabric::single_node(2);
  topology.nodes = 2;
  Rig rig(topology);
  rig.init();
  const auto comms = rig.dev_comms({.lsa_barriers = 3, .rail_gin_barriers = 2, .gin_signals = 5});
  for (int rank = 0; rank < 4; ++rank) {
    const abi::DevComm& comm = comms[static_cast<std::size_t>(rank)];
    EXPECT_EQ(comm.rank, rank);
    EXPECT_EQ(comm.n_ranks, 4);
    EXPECT_EQ(comm.lsa_rank, rank % 2);
    EXPECT_EQ(comm.lsa_size, 2);
    EXPECT_EQ(comm.gin_context_count, 4);
    EXPECT_EQ(comm.gin_types[3], 2);
    EXPECT_EQ(comm.gin_signal_count, 7);
    EXPECT_EQ(comm.rail_gin_barrier.signal0, 5U);
    EXPECT_EQ(comm.lsa_barrier.barriers, 3);
    EXPECT_EQ(comm.resource_window_inlined.stride_4g, 16U);
  }
  // Both ranks of a team see the same base; a store through one is seen through the other.
  EXPECT_EQ(comms[0].resource_window_inlined.lsa_flat_base,
            comms[1].resource_window_inlined.lsa_flat_base);
  EXPECT_NE(comms[0].resource_window_inlined.lsa_flat_base,
            comms[2].resource_window_inlined.lsa_flat_base);
}

TEST(DevComm, GinNeedsANic) {
  fabric::Topology topology = fabric::single_node(2);
  topology.nic.reset();
  Rig rig(topology);
  rig.init();
  const auto replies = rig.collective(wire::NcclItemKind::DevCommCreate, [&](int rank) {
    return wire::NcclDevCommCreate{.comm = rig.infos[static_cast<std::size_t>(rank)].comm,
                                   .gin_signals = 1};
  });
  EXPECT_EQ(replies.front().problem.code, nccl_core::Code::InvalidUsage);
  EXPECT_THAT(replies.front().problem.message, HasSubstr("GIN needs a NIC"));
  // Without GIN it works, and one context remains for the headers to read.
  EXPECT_EQ(rig.dev_comms({.lsa_barriers = 1}).front().gin_context_count, 1);
}

TEST(Windows, FlatSlotsAliasEveryRanksCopy) {
  Rig rig(fabric::single_node(4));
  rig.init();
  const auto data = rig.window(3U << 20U);
  const auto description = load<abi::Window>(rig.windows[2]);
  EXPECT_EQ(description.lsa_rank, 2);
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    const vgpu::Address view =
        description.lsa_flat_base + (rank * description.stride_4g << 32U) + 100;
    std::memcpy(vgpu::Memory::at(data[rank]) + 100, &rank, 8);
    EXPECT_EQ(load<std::uint64_t>(view), rank);
    EXPECT_EQ(rig.memory().canonical(view), data[rank] + 100);
  }
}

TEST(Windows, PeersOutsideTheTeamAreExplained) {
  fabric::Topology topology = fabric::single_node(2);
  topology.nodes = 2;
  Rig rig(topology);
  rig.init();
  rig.window(1U << 20U);
  const auto mine = load<abi::Window>(rig.windows[0]);
  const vgpu::Address wild = mine.lsa_flat_base + (std::uint64_t{3} * mine.stride_4g << 32U);
  EXPECT_FALSE(rig.memory().valid(wild, 4));
  EXPECT_THAT(*rig.world().explain(wild, 0),
              HasSubstr("rank 0 used a load/store pointer into rank 3's copy"));
  EXPECT_EQ(rig.world().load_store_peers(0), 3U);
  EXPECT_EQ(rig.world().load_store_peers(3), 12U);
}

TEST(Windows, WrongUseIsExplained) {
  Rig rig(fabric::single_node(2));
  rig.init();
  const auto good = *rig.world().windows().allocate(0, 1U << 20U);
  const auto other = *rig.world().windows().allocate(1, 1U << 20U);
  const auto plain = *rig.memory().allocate(1, 1U << 20U);
  const auto message = [&](vgpu::Address second, std::uint64_t bytes) {
    const auto replies = rig.collective(wire::NcclItemKind::WindowRegister, [&](int rank) {
      return wire::NcclWindowRegister{rig.infos[static_cast<std::size_t>(rank)].comm,
                                      rank == 0 ? good : second, rank == 0 ? 4096 : bytes, 1, 0};
    });
    return replies.back().problem.message;
  };
  EXPECT_THAT(message(plain, 4096), HasSubstr("is not memory from ncclMemAlloc"));
  EXPECT_THAT(message(other, 8192), HasSubstr("the window is not symmetric"));
  EXPECT_THAT(message(other + 100, 4096), HasSubstr("must be a multiple of 4096"));
  EXPECT_THAT(message(other, 1U << 30U), HasSubstr("past the end"));
  EXPECT_EQ(message(other, 4096), "");
}

}  // namespace
}  // namespace cuco::vcluster
