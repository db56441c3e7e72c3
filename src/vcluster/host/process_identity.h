// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which process a connection belongs to.
#pragma once

#include <cstdint>

#include "shims/wire/messages_host.h"

namespace cuco::vcluster {

/// Above any pid: see /proc/sys/kernel/pid_max.
inline constexpr std::uint32_t kPidLimit = 1U << 22U;

/// The kernel's word for the pid, where it has one. Behind pid namespaces it has none, and each
/// rank may have the same pid in its own: there a process is known by its own word, pid and rank.
[[nodiscard]] inline std::uint32_t process_identity(std::uint32_t kernel_pid,
                                                    const wire::Hello& hello) {
  if (kernel_pid != 0) return kernel_pid;
  const auto rank = static_cast<std::uint32_t>(hello.rank + 1) % (kPidLimit / 4096);
  return hello.pid % kPidLimit + rank * kPidLimit;
}

}  // namespace cuco::vcluster
