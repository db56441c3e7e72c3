// SPDX-License-Identifier: Apache-2.0
/// \file
/// A virtual cluster's NCCL without sockets, kernels or processes: one process per rank, one call
/// at a time, time by hand.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "vcluster/nccl/nccl_world.h"

namespace cuco::vcluster {

class Rig {
 public:
  explicit Rig(fabric::Topology topology, const fabric::Lateness& lateness = {})
      : ranks_(topology.gpus()),
        memory_(*vgpu::Memory::create(static_cast<unsigned>(topology.gpus()))),
        fabric_(std::move(topology)),
        world_(NcclServices{timeline_,
                            works_,
                            *memory_,
                            fabric_,
                            [this](const std::string& line) { log.push_back(line); },
                            [this](int, const std::string& why) { failures.push_back(why); },
                            {}}) {
    fabric_.set_lateness(lateness);
  }

  NcclWorld& world() { return world_; }
  vgpu::Memory& memory() { return *memory_; }
  Timeline& timeline() { return timeline_; }
  WorkGraph& works() { return works_; }
  [[nodiscard]] int ranks() const { return ranks_; }

  /// Serves one item of every rank's process and returns all answers.
  template <typename Make>
  std::vector<NcclReply> collective(wire::NcclItemKind kind, Make make) {
    std::vector<NcclReply> replies(static_cast<std::size_t>(ranks_));
    std::vector<bool> answered(replies.size());
    for (int rank = 0; rank < ranks_; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      std::vector<std::byte> payload;
      wire::append(payload, make(rank));
      world_.serve(kind, payload,
                   {static_cast<std::uint32_t>(rank), [&replies, &answered, r](NcclReply reply) {
                      replies[r] = std::move(reply);
                      answered[r] = true;
                    }});
    }
    for (const bool done : answered)
      EXPECT_TRUE(done);
    return replies;
  }

  /// A communicator of all ranks, rank r in process r on device r.
  void init() {
    const auto id = world_.unique_id();
    const auto replies = collective(wire::NcclItemKind::Init, [&](int rank) {
      return wire::NcclInit{{id.words[0], id.words[1]}, rank, ranks_, rank, 0};
    });
    for (const NcclReply& reply : replies) {
      ASSERT_EQ(reply.problem.message, "");
      infos.push_back(*wire::read_front<wire::NcclCommInfo>(reply.payload));
    }
  }

  [[nodiscard]] CliqueRank place(int rank) {
    return *world_.find(infos[static_cast<std::size_t>(rank)].comm,
                        static_cast<std::uint32_t>(rank));
  }

  /// Device memory with these ints.
  vgpu::Address device_ints(int device, const std::vector<int>& values) {
    const auto address = *memory_->allocate(static_cast<unsigned>(device), values.size() * 4);
    std::memcpy(vgpu::Memory::at(address), values.data(), values.size() * 4);
    return address;
  }
  static std::vector<int> read_ints(vgpu::Address address, std::size_t count) {
    std::vector<int> values(count);
    std::memcpy(values.data(), vgpu::Memory::at(address), count * 4);
    return values;
  }

  /// A window of `bytes` on every rank; returns its addresses.
  std::vector<vgpu::Address> window(std::uint64_t bytes) {
    std::vector<vgpu::Address> addresses;
    for (int rank = 0; rank < ranks_; ++rank) {
      addresses.push_back(*world_.windows().allocate(static_cast<unsigned>(rank), bytes));
    }
    const auto replies = collective(wire::NcclItemKind::WindowRegister, [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      return wire::NcclWindowRegister{infos[r].comm, addresses[r], bytes, 1, 0};
    });
    windows.clear();
    for (const NcclReply& reply : replies) {
      EXPECT_EQ(reply.problem.message, "");
      windows.push_back(wire::read_front<wire::NcclWindow>(reply.payload)->window);
    }
    return addresses;
  }

  std::vector<nccl_core::abi_2_28::DevComm> dev_comms(wire::NcclDevCommCreate wanted) {
    const auto replies = collective(wire::NcclItemKind::DevCommCreate, [&](int rank) {
      wanted.comm = infos[static_cast<std::size_t>(rank)].comm;
      return wanted;
    });
    std::vector<nccl_core::abi_2_28::DevComm> result;
    for (const NcclReply& reply : replies) {
      EXPECT_EQ(reply.problem.message, "");
      const auto comm = wire::read_front<nccl_core::abi_2_28::DevComm>(reply.payload);
      result.push_back(comm.value_or(nccl_core::abi_2_28::DevComm{}));
    }
    return result;
  }

  /// Lets everything happen.
  void run() {
    while (timeline_.next_time())
      timeline_.run_next();
  }

  std::vector<wire::NcclCommInfo> infos;
  std::vector<vgpu::Address> windows;  ///< Descriptions of the last window, by rank.
  std::vector<std::string> log;
  std::vector<std::string> failures;

 private:
  int ranks_;
  Timeline timeline_;
  WorkGraph works_{timeline_};
  std::unique_ptr<vgpu::Memory> memory_;
  fabric::Fabric fabric_;
  NcclWorld world_;
};

}  // namespace cuco::vcluster
