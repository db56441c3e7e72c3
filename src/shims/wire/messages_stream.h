// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages about streams, events and what runs in streams: copies, sets, host functions.
///
/// A stream is a number. 0 and 1 are the legacy default stream of the thread's device, 2 is the
/// thread's own default stream; others come from StreamCreate.
#pragma once

#include <cstdint>

#include "shims/wire/protocol.h"

namespace cuco::wire {

inline constexpr std::uint64_t kLegacyStream = 1;
inline constexpr std::uint64_t kPerThreadStream = 2;

/// The place of an operation: which stream of which device.
struct StreamRef {
  std::uint64_t stream = 0;
  std::int32_t device = 0;
  std::uint32_t reserved = 0;
};

struct StreamCreate {
  static constexpr std::uint16_t kType = kStreamSubject + 1;
  struct Reply {
    std::uint64_t stream = 0;
  };
  std::int32_t device = 0;
  std::uint32_t flags = 0;  ///< 1: non-blocking.
  std::int32_t priority = 0;
};

struct StreamDestroy {
  static constexpr std::uint16_t kType = kStreamSubject + 2;
  using Reply = Nothing;
  std::uint64_t stream = 0;
};

struct StreamSynchronize {
  static constexpr std::uint16_t kType = kStreamSubject + 3;
  using Reply = Nothing;
  StreamRef stream;
};

struct StreamQuery {
  static constexpr std::uint16_t kType = kStreamSubject + 4;
  using Reply = Nothing;
  StreamRef stream;
};

struct StreamInfo {
  static constexpr std::uint16_t kType = kStreamSubject + 5;
  struct Reply {
    std::uint64_t id = 0;
    std::uint32_t flags = 0;
    std::int32_t priority = 0;
    std::int32_t device = 0;
    std::uint32_t reserved = 0;
  };
  StreamRef stream;
};

struct StreamWaitEvent {
  static constexpr std::uint16_t kType = kStreamSubject + 6;
  using Reply = Nothing;
  StreamRef stream;
  std::uint64_t event = 0;
  std::uint32_t flags = 0;
  std::uint32_t reserved = 0;
};

/// cudaLaunchHostFunc (stream_callback 0) and cudaStreamAddCallback (1).
struct HostFunction {
  static constexpr std::uint16_t kType = kStreamSubject + 7;
  using Reply = Nothing;
  StreamRef stream;
  std::uint64_t function = 0;
  std::uint64_t argument = 0;
  std::uint32_t stream_callback = 0;
  std::uint32_t reserved = 0;
};

struct EventCreate {
  static constexpr std::uint16_t kType = kEventSubject + 1;
  struct Reply {
    std::uint64_t event = 0;
  };
  std::int32_t device = 0;
  std::uint32_t flags = 0;  ///< 1 blocking sync, 2 no timing, 4 interprocess.
};

struct EventDestroy {
  static constexpr std::uint16_t kType = kEventSubject + 2;
  using Reply = Nothing;
  std::uint64_t event = 0;
};

struct EventRecord {
  static constexpr std::uint16_t kType = kEventSubject + 3;
  using Reply = Nothing;
  StreamRef stream;
  std::uint64_t event = 0;
  std::uint32_t flags = 0;
  std::uint32_t reserved = 0;
};

struct EventSynchronize {
  static constexpr std::uint16_t kType = kEventSubject + 4;
  using Reply = Nothing;
  std::uint64_t event = 0;
};

struct EventQuery {
  static constexpr std::uint16_t kType = kEventSubject + 5;
  using Reply = Nothing;
  std::uint64_t event = 0;
};

struct EventElapsed {
  static constexpr std::uint16_t kType = kEventSubject + 6;
  struct Reply {
    std::int64_t picoseconds = 0;
  };
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

/// One side of a copy. Rows are `pitch` bytes apart, slices `slice` bytes.
struct CopyEnd {
  enum Where : std::uint32_t {
    kServer = 0,  ///< An address the server knows: device, pinned, managed.
    kBounce = 1,  ///< `address` is an offset into the thread's bounce buffer, rows packed.
    kHost = 2,    ///< Pageable memory of the process, reached through its service thread.
  };
  std::uint64_t address = 0;
  std::uint64_t pitch = 0;
  std::uint64_t slice = 0;
  Where where = kServer;
  std::uint32_t reserved = 0;
};

struct Copy {
  static constexpr std::uint16_t kType = kCopySubject + 1;
  using Reply = Nothing;
  StreamRef stream;
  CopyEnd to;
  CopyEnd from;
  std::uint64_t width = 0;  ///< Bytes of a row.
  std::uint64_t height = 1;
  std::uint64_t depth = 1;
  std::uint32_t wait = 0;  ///< 1: the thread waits for the end of the copy.
  std::uint32_t reserved = 0;
};

struct Fill {
  static constexpr std::uint16_t kType = kCopySubject + 2;
  using Reply = Nothing;
  StreamRef stream;
  std::uint64_t address = 0;
  std::uint64_t pitch = 0;
  std::uint64_t slice = 0;
  std::uint64_t width = 0;  ///< Elements of a row.
  std::uint64_t height = 1;
  std::uint64_t depth = 1;
  std::uint32_t value = 0;
  std::uint32_t element_bytes = 1;
  std::uint32_t wait = 0;
  std::uint32_t reserved = 0;
};

}  // namespace cuco::wire
