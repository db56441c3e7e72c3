// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages between rank processes (MPI): handed in, matched and fetched at the server, in virtual
/// time. An operation that is not done at once gets a number, which its process waits for.
#pragma once

#include <cstdint>

#include "shims/wire/protocol.h"

namespace cuco::wire {

inline constexpr std::int32_t kAnyMail = -1;  ///< As source or tag of a receive or probe.
/// Larger messages come as a file instead of a tail.
inline constexpr std::uint64_t kMaxMailTail = 64U << 10;

/// Sends; the payload is the tail, or in the file that comes along. `number` 0: done.
struct MailSend {
  static constexpr std::uint16_t kType = kHostSubject + 0x21;
  struct Reply {
    std::uint64_t number = 0;
  };
  std::uint64_t comm = 0;   ///< Name of the communicator, the same in all its processes.
  std::int32_t source = 0;  ///< Rank in the communicator.
  std::int32_t tag = 0;
  std::uint32_t to = 0;               ///< Rank in MPI_COMM_WORLD.
  std::uint32_t waits_for_taker = 0;  ///< Done only when it is matched.
  std::uint64_t bytes = 0;
};

struct MailReceive {
  static constexpr std::uint16_t kType = kHostSubject + 0x22;
  struct Reply {
    std::uint64_t number = 0;
  };
  std::uint64_t comm = 0;
  std::int32_t source = kAnyMail;
  std::int32_t tag = kAnyMail;
  std::uint32_t me = 0;  ///< Rank in MPI_COMM_WORLD.
  std::uint32_t reserved = 0;
};

/// An operation that is done when all of several are. Tail: `count` numbers.
struct MailJoin {
  static constexpr std::uint16_t kType = kHostSubject + 0x23;
  struct Reply {
    std::uint64_t number = 0;
  };
  std::uint32_t count = 0;
  std::uint32_t reserved = 0;
};

/// Waits for the first of several in virtual time. Sends and joins are forgotten when reported.
/// Tail: `count` numbers.
struct MailWait {
  static constexpr std::uint16_t kType = kHostSubject + 0x24;
  struct Reply {
    std::uint32_t index = 0;
    std::uint32_t reserved = 0;
  };
  std::uint32_t count = 0;
  std::uint32_t reserved = 0;
};

/// The same without waiting; index -1: none is done yet.
struct MailTest {
  static constexpr std::uint16_t kType = kHostSubject + 0x25;
  struct Reply {
    std::int32_t index = -1;
    std::uint32_t reserved = 0;
  };
  std::uint32_t count = 0;
  std::uint32_t reserved = 0;
};

/// Takes what a receive that is done got: in the tail, or in the file that comes along.
struct MailFetch {
  static constexpr std::uint16_t kType = kHostSubject + 0x26;
  struct Reply {
    std::uint64_t bytes = 0;
    std::int32_t source = 0;
    std::int32_t tag = 0;
  };
  std::uint64_t number = 0;
};

/// Looks for a message, and takes it out of the matching if asked to: `number` is then a receive
/// that is done.
struct MailProbe {
  static constexpr std::uint16_t kType = kHostSubject + 0x27;
  struct Reply {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    std::int32_t source = 0;
    std::int32_t tag = 0;
    std::uint32_t found = 0;
    std::uint32_t reserved = 0;
  };
  std::uint64_t comm = 0;
  std::int32_t source = kAnyMail;
  std::int32_t tag = kAnyMail;
  std::uint32_t me = 0;
  std::uint32_t waits = 0;
  std::uint32_t takes = 0;
  std::uint32_t reserved = 0;
};

/// Takes an operation back if it has not been matched.
struct MailCancel {
  static constexpr std::uint16_t kType = kHostSubject + 0x28;
  struct Reply {
    std::uint32_t cancelled = 0;
    std::uint32_t reserved = 0;
  };
  std::uint64_t number = 0;
};

}  // namespace cuco::wire
