// SPDX-License-Identifier: Apache-2.0
/// \file
/// The network's process, as a process with ranks sees it: what ranks share is made there, and
/// mapped here at the same address.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "loopback/channel.h"
#include "loopback/gpu/rank_memory.h"
#include "loopback/nccl/assembly.h"
#include "loopback/processes/process_messages.h"

namespace cuco::loopback {

class NetworkClient final : public Assembly, public MemorySource {
 public:
  /// Connected; ends the program where the network is not there.
  static NetworkClient& get();

  Joined join(const SetUpRequest& request, const std::shared_ptr<SetUpAnswer>& answer) override;
  nccl_core::Check log(const Membership& member, const nccl_core::Call& call) override;
  nccl_core::Check why_broken(const Membership& member) override;
  void break_up(const Membership& member, const nccl_core::Problem& why) override;
  void leave(const Membership& member) override;
  bool release_window(const Membership& member, Address description) override;
  bool release_dev_comm(const Membership& member, Address resources) override;

  CUresult make(Allocation* out, std::uint64_t bytes, int rank, bool can_be_window) override;
  void free(CUdeviceptr base) override;

  /// One question and its answer, from any thread.
  [[nodiscard]] std::string ask(const Writer& question);
  [[nodiscard]] std::uint64_t next_number() { return ++numbers_; }

 private:
  NetworkClient();
  void say_hello(Channel& channel, Socket which);
  void listen();
  /// What the network tells; the answer.
  [[nodiscard]] std::string hear(const Channel::Message& message);
  void map(Reader& in, int descriptor);

  std::mutex mutex_;  ///< Of calls_.
  Channel calls_, told_;
  std::atomic<std::uint64_t> numbers_{0};
  std::map<CUmemGenericAllocationHandle, CUmemGenericAllocationHandle> handles_;  ///< Theirs: ours.
};

}  // namespace cuco::loopback
