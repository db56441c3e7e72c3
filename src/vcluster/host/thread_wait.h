// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a host thread waits for.
#pragma once

#include <string>
#include <variant>

#include "shims/wire/messages_host.h"

namespace cuco::vcluster {

/// A call of the program: "stream 17 (cudaStreamSynchronize)", for people.
struct CallWait {
  std::string call;
};

/// Something between host threads: a lock, a message, the end of a thread.
struct HostThreadWait {
  wire::HostWait kind = wire::HostWait::Unknown;
};

struct PinnedMemoryWait {};  ///< Perhaps a value in pinned memory: it is busy and makes no calls.
struct ServiceWait {};       ///< Work for a service thread.

using ThreadWait =
    std::variant<std::monostate, CallWait, HostThreadWait, PinnedMemoryWait, ServiceWait>;

/// "a mutex", "stream 17 (cudaStreamSynchronize)"; empty: it does not wait.
[[nodiscard]] std::string describe(const ThreadWait& wait);

}  // namespace cuco::vcluster
