// SPDX-License-Identifier: Apache-2.0
/// \file
/// The frame that every message between a rank process and the virtual cluster travels in.
///
/// One Unix stream socket per host thread. A request is
///
///     Header { magic, version, type, bytes, status = 0, clock = 0 }  payload[bytes]
///
/// and its payload is the trivially copyable struct named by `type`, then a tail whose length is
/// what is left of `bytes`. A reply has the same frame: type repeats the request's, status is a
/// CUDA (or NCCL) error code, clock is the thread's virtual time after the call. A message may
/// carry one file descriptor (SCM_RIGHTS), attached to its header.
///
/// Both ends run on one machine from one build; the version guards against a stale library. The
/// server trusts nothing in a request: see wire/view.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cuco::wire {

inline constexpr std::uint32_t kMagic = 0x4F435543;  // "CUCO"
inline constexpr std::uint16_t kVersion = 1;
/// A payload is small: bulk data goes through shared memory.
inline constexpr std::uint32_t kMaxPayload = 4U << 20;
/// Environment of a rank process: the path of the server's socket.
inline constexpr const char* kSocketVariable = "CUCO_VCLUSTER_SOCKET";

struct Header {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  std::uint16_t type = 0;
  std::uint32_t bytes = 0;
  std::int32_t status = 0;
  std::int64_t clock = 0;  ///< Reply: the thread's virtual time in picoseconds.
};
static_assert(sizeof(Header) == 24 && std::is_trivially_copyable_v<Header>);

/// Message numbers by subject. Each request struct names its own as kType.
enum Subject : std::uint16_t {
  kHostSubject = 0x0000,
  kDeviceSubject = 0x0100,
  kMemorySubject = 0x0200,
  kCopySubject = 0x0300,
  kStreamSubject = 0x0400,
  kEventSubject = 0x0500,
  kModuleSubject = 0x0600,
  kGraphSubject = 0x0700,
  kIpcSubject = 0x0800,
  kNcclSubject = 0x1000,
};

/// The reply of a request that only succeeds or fails.
struct Nothing {};

}  // namespace cuco::wire
