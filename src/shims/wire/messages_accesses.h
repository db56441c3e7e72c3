// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a host thread read and wrote of pinned and managed memory: checked runs of programs whose
/// host code was compiled to say so.
#pragma once

#include <cstdint>

#include "shims/wire/protocol.h"

namespace cuco::wire {

struct HostAccess {
  enum Kind : std::uint32_t {
    kRead = 0,
    kWrite = 1,
    kLook = 2,   ///< Volatile or atomic: a flag that somebody else raises.
    kRaise = 3,  ///< The same, written.
  };
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t caller = 0;  ///< Return address in the program.
  Kind kind = kRead;
  std::uint32_t reserved = 0;
};

/// Accesses of the thread since it last said so, in their order. Tail: HostAccess… An empty list
/// says that the process is watched at all. The thread is not held up, whether answered or not.
struct HostAccesses {
  static constexpr std::uint16_t kType = kHostSubject + 13;
  using Reply = Nothing;
  std::uint32_t is_answered = 0;
  std::uint32_t reserved = 0;
};

/// What the host library exports for libcudart: where the server's memory is, from now on…
inline constexpr const char* kWatchHostSymbol = "cucoWatchHost";
using WatchHostFunction = void (*)(std::uint64_t base, std::uint64_t bytes);
/// …and to send what the calling thread has not told yet: before each of its requests.
inline constexpr const char* kTellAccessesSymbol = "cucoTellAccesses";
using TellAccessesFunction = void (*)();

}  // namespace cuco::wire
