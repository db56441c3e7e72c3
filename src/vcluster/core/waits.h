// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who waits for what in the whole cluster: the facts of a deadlock report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "check/deadlock.h"
#include "vcluster/host/thread_wait.h"
#include "vgpu/gpu/wait.h"

namespace cuco::vcluster {

/// A process that ended without finishing: whoever waits may wait for it.
struct LostProcess {
  std::string name;
};

struct WaitingThread {
  std::string thread;  ///< "rank 1 (pid 812, ./prog) thread 0".
  bool runs = false;   ///< It computes: nothing is known to hold it up.
  ThreadWait what;
};

struct WaitingStream {
  std::string stream;  ///< "rank 1 (pid 812, ./prog) device 0 stream 17".
  std::string work;    ///< Its last piece, and what that comes after.
};

/// Something inside NCCL.
struct WaitingCall {
  std::string what;          ///< Which call, who is in it, who is not.
  std::vector<int> missing;  ///< Ranks that never made the matching call.
};

struct WaitingKernel {
  unsigned device = 0;
  vgpu::Wait what;
  std::optional<std::string> awaited;  ///< What NCCL keeps at the awaited address, if it does.
};

using ClusterWait =
    std::variant<LostProcess, WaitingThread, WaitingStream, WaitingCall, WaitingKernel>;

/// One line for people.
[[nodiscard]] std::string describe(const ClusterWait& wait);
[[nodiscard]] std::vector<std::string> describe(const std::vector<ClusterWait>& waits);

/// The same for the checker.
[[nodiscard]] std::vector<check::Waiter> waiters_of(const std::vector<ClusterWait>& waits);

}  // namespace cuco::vcluster
