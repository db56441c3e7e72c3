// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages about host threads: who is there, who waits for whom, what time it is.
#pragma once

#include <cstdint>

#include "shims/wire/protocol.h"

namespace cuco::wire {

inline constexpr std::uint32_t kMaxDevices = 64;

/// First message of every connection. Tail: the program's name.
struct Hello {
  static constexpr std::uint16_t kType = kHostSubject + 1;
  struct Reply {
    std::uint32_t process = 0;  ///< Index of the process: place of its pinned memory.
    std::uint32_t thread = 0;
    std::uint32_t device_count = 0;
    std::int32_t devices[kMaxDevices] = {};  ///< The process's ordinal -> device of the cluster.
    std::uint32_t node = 0;
    std::uint32_t changes_inputs = 0;  ///< What it sends to devices may come back changed.
    std::uint64_t device_base = 0;     ///< Range to be reserved, inaccessible.
    std::uint64_t device_end = 0;
    std::uint64_t host_base = 0;  ///< The process's pinned region; its memfd comes with the reply.
    std::uint64_t host_bytes = 0;
  };
  enum Role : std::uint32_t { kThread = 0, kService = 1 };
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint32_t role = kThread;
  std::int32_t rank = -1;     ///< From mpirun's environment; -1: unknown.
  std::int64_t born_at = -1;  ///< Virtual time of the creating thread; -1: unknown.
};

/// The process ends in order. Without it a closed last connection means that it died.
struct Goodbye {
  static constexpr std::uint16_t kType = kHostSubject + 2;
  using Reply = Nothing;
};

/// Shares the thread's bounce buffer: a memfd of `bytes` comes along.
struct AttachBounce {
  static constexpr std::uint16_t kType = kHostSubject + 3;
  using Reply = Nothing;
  std::uint64_t bytes = 0;
};

/// Asks for the thread's virtual time; the reply's header has it. Costs `advance_ps`.
struct ReadClock {
  static constexpr std::uint16_t kType = kHostSubject + 4;
  using Reply = Nothing;
  std::int64_t advance_ps = 0;
};

/// Sleeps in virtual time.
struct Sleep {
  static constexpr std::uint16_t kType = kHostSubject + 5;
  using Reply = Nothing;
  std::int64_t duration_ps = 0;
};

/// What a host thread waits for, for reports.
enum class HostWait : std::uint32_t {
  Unknown = 0,
  Join,
  Mutex,
  Condition,
  Semaphore,
  Barrier,
  Process,
  MessagePassing,
  Io,
};

/// One way, no reply: the thread is about to block outside the server's sight...
struct Park {
  static constexpr std::uint16_t kType = kHostSubject + 6;
  using Reply = Nothing;
  HostWait kind = HostWait::Unknown;
  std::uint32_t reserved = 0;
  std::uint64_t key = 0;
};

/// ...and runs again, one way too, not before the virtual time `woken_at` (-1: unknown).
struct Unpark {
  static constexpr std::uint16_t kType = kHostSubject + 7;
  using Reply = Nothing;
  std::int64_t woken_at = -1;
};

/// Counting semaphores by name, across threads and processes: the base of joins, condition
/// variables and matched messages. `scope` 0: names of this process only; 1: of the whole cluster.
/// A condition variable wakes those who wait already, never who comes later: its waiters have
/// tickets, and a post is for tickets up to `last_ticket`.
struct SemaphorePost {
  static constexpr std::uint16_t kType = kHostSubject + 8;
  using Reply = Nothing;
  std::uint64_t key = 0;
  std::uint32_t scope = 0;
  std::uint32_t count = 1;
  std::uint64_t last_ticket = ~std::uint64_t{0};
};

struct SemaphoreWait {
  static constexpr std::uint16_t kType = kHostSubject + 9;
  struct Reply {
    std::uint32_t acquired = 0;  ///< 0: the time-out passed first.
    std::uint32_t reserved = 0;
  };
  std::uint64_t key = 0;
  std::uint32_t scope = 0;
  HostWait kind = HostWait::Semaphore;
  std::int64_t timeout_ps = -1;  ///< -1: for ever; 0: only try.
  std::uint64_t ticket = 0;      ///< 0: any post will do.
};

/// Waits until `count` threads are here; all leave at the latest arrival's time.
struct Rendezvous {
  static constexpr std::uint16_t kType = kHostSubject + 10;
  using Reply = Nothing;
  std::uint64_t key = 0;
  std::uint32_t scope = 0;
  std::uint32_t count = 0;
  HostWait kind = HostWait::Barrier;
  std::uint32_t reserved = 0;
};

/// What kernels printed since the last time. Reply tail: the text; `stream` 0: nothing left.
struct FetchOutput {
  static constexpr std::uint16_t kType = kHostSubject + 12;
  struct Reply {
    std::uint32_t stream = 0;  ///< 1 standard output, 2 standard error.
    std::uint32_t reserved = 0;
  };
};

/// A service thread asks for work and says how the last piece ended. Parks until there is some.
struct NextService {
  static constexpr std::uint16_t kType = kHostSubject + 11;
  enum Kind : std::uint32_t {
    kCallback = 1,
    kStreamCallback = 2,
    kReadHost = 3,    ///< Pack rows of host memory into the bounce buffer, growing it if need be.
    kWriteHost = 4,   ///< Unpack them.
    kGrowBounce = 5,  ///< Only make the bounce buffer large enough.
  };
  struct Reply {
    std::uint64_t ticket = 0;
    Kind kind = kCallback;
    std::int32_t status = 0;  ///< For stream callbacks: the stream's error.
    std::uint64_t function = 0;
    std::uint64_t argument = 0;  ///< User data, or the host address to copy from or to.
    std::uint64_t stream = 0;
    std::uint64_t pitch = 0;
    std::uint64_t slice = 0;
    std::uint64_t width = 0;
    std::uint64_t height = 0;
    std::uint64_t depth = 0;
  };
  std::uint64_t finished_ticket = 0;  ///< 0: none.
};

}  // namespace cuco::wire
