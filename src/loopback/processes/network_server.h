// SPDX-License-Identifier: Apache-2.0
/// \file
/// The network's process of a run whose ranks are processes. It owns what they share, concludes
/// what they decide together, and plays the network, out of their reach.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "loopback/channel.h"
#include "loopback/gpu/pages.h"
#include "loopback/nccl/assembly.h"
#include "loopback/nccl/watchdog.h"
#include "loopback/processes/process_messages.h"

namespace cuco::loopback {

class NetworkServer final : public Audience, public Elsewhere {
 public:
  static NetworkServer& get();

  /// Serves until standard input ends.
  void run();

  void mapped(CUdeviceptr at, std::uint64_t bytes, CUmemGenericAllocationHandle handle) override;
  void unmapped(CUdeviceptr at, std::uint64_t bytes) override;
  void destroyed(CUmemGenericAllocationHandle handle) override;
  void host_mapped(void* at, std::uint64_t bytes, int descriptor) override;

  std::uint64_t progress() override;
  std::vector<std::string> waits() override;
  /// All processes end with this status.
  void end(int status);

 private:
  /// A process that has ranks.
  struct Listener {
    int process = 0;
    Channel channel;
    bool has_left = false;  ///< As it should.
    bool is_gone = false;   ///< It does not answer.
    std::uint64_t progress = 0;
  };
  struct Mapping {
    std::uint64_t bytes = 0;
    CUmemGenericAllocationHandle handle = 0;
  };
  struct HostMapping {
    std::uint64_t bytes = 0;
    int descriptor = -1;
  };
  /// What one process has asked for and not been told yet, and where it takes part.
  struct Caller;

  void greet(Channel channel);
  void attach(int process, Channel channel);
  void serve(int process, pid_t pid, Channel channel);
  /// Until it is told things.
  void await(const Caller& caller);
  [[nodiscard]] std::string answer(Caller& caller, Reader& in);
  [[nodiscard]] std::string join(Caller& caller, Reader& in);
  [[nodiscard]] std::string look(Caller& caller, Reader& in);
  [[nodiscard]] std::string answer_member(Caller& caller, Ask ask, Reader& in);
  /// One thing told, and what came back; nothing where nobody answered. mutex_ is held.
  std::string tell(Listener& listener, const Writer& what, int descriptor = -1);
  void tell_map(Listener& listener, CUdeviceptr at, const Mapping& mapping);
  void leave(const Caller& caller);
  /// It ended without a word.
  void lose(const Caller& caller, pid_t pid);

  std::mutex mutex_;
  std::mutex adding_;  ///< Of the list itself: who ends all must not wait for an answer.
  std::condition_variable attached_;
  std::atomic<bool> is_ending_{false}, one_left_early_{false};
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::map<CUdeviceptr, Mapping> mappings_;
  std::map<void*, HostMapping> host_mappings_;
};

}  // namespace cuco::loopback
