// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages about messages between rank processes (MPI): each has a name of its own, is announced
/// once and waited for once, so that the order in which announcements reach the server decides
/// nothing but who waits.
#pragma once

#include <cstdint>

#include "wire/protocol.h"

namespace cuco::wire {

/// Announces the message `key` at the caller's clock.
struct MessagePost {
  static constexpr std::uint16_t kType = kHostSubject + 0x21;
  using Reply = Nothing;
  std::uint64_t key = 0;
};

/// Waits for it; the thread goes on at its own clock or the announcement's, whichever is later.
struct MessageWait {
  static constexpr std::uint16_t kType = kHostSubject + 0x22;
  using Reply = Nothing;
  std::uint64_t key = 0;
};

/// Takes it if it was announced by now.
struct MessageTest {
  static constexpr std::uint16_t kType = kHostSubject + 0x23;
  struct Reply {
    std::uint32_t taken = 0;
    std::uint32_t reserved = 0;
  };
  std::uint64_t key = 0;
};

/// Waits for the first of several, in virtual time; of those announced at one time the first in the
/// list. Tail: `count` keys.
struct MessageWaitAny {
  static constexpr std::uint16_t kType = kHostSubject + 0x24;
  struct Reply {
    std::uint32_t index = 0;
    std::uint32_t reserved = 0;
  };
  std::uint32_t count = 0;
  std::uint32_t reserved = 0;
};

}  // namespace cuco::wire
