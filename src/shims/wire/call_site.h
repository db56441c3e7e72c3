// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the program made a call, packed into fields that requests have no other use for.
#pragma once

#include <cstdint>

#include "shims/wire/protocol.h"

namespace cuco::wire {

/// Set in the environment of a checked run's ranks: requests say where they come from.
inline constexpr const char* kCheckVariable = "CUCO_CHECK";

/// Return addresses of the two innermost frames that are not of our libraries: the inner one may be
/// a wrapper in a header of CUDA. 0: unknown.
struct CallSite {
  std::uint64_t inner = 0;
  std::uint64_t outer = 0;
};

// User addresses have 47 bits: one in the low bits of `clock`, the other in the rest of it and in
// `status`.
inline void pack(const CallSite& site, Header& header) {
  header.clock = static_cast<std::int64_t>((site.inner & 0xFFFF'FFFF'FFFFU) | site.outer << 48U);
  header.status = static_cast<std::int32_t>(site.outer >> 16U);
}

[[nodiscard]] inline CallSite unpack_call_site(const Header& header) {
  const auto clock = static_cast<std::uint64_t>(header.clock);
  return {clock & 0xFFFF'FFFF'FFFFU,
          std::uint64_t{static_cast<std::uint32_t>(header.status)} << 16U | clock >> 48U};
}

/// The calling thread's site; empty unless the run is checked. For rank processes only.
[[nodiscard]] CallSite current_call_site();

}  // namespace cuco::wire
