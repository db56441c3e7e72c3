// SPDX-License-Identifier: Apache-2.0
/// \file
/// mbarrier objects, for those who arrive at them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "vgpu/gpu/warp.h"
#include "vgpu/lower/lowering.h"

namespace cuco::vgpu {

/// The object: opaque to programs, 8 bytes of shared memory.
struct Mbarrier {
  static constexpr std::uint32_t kBytes = 8;

  std::uint32_t pending = 0;
  std::uint32_t expected = 0;
  std::int32_t bytes_under_way = 0;
  bool parity = false;

  static constexpr unsigned kCountBits = 20;
  static constexpr std::uint64_t kCountMask = (1U << kCountBits) - 1;

  static Mbarrier unpack(std::uint64_t bits) {
    Mbarrier out;
    out.pending = static_cast<std::uint32_t>(bits & kCountMask);
    out.expected = static_cast<std::uint32_t>(bits >> kCountBits & kCountMask);
    // 23 bits with sign: bytes may arrive before they are announced.
    out.bytes_under_way =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(bits >> 40U) << 9U) >> 9;
    out.parity = bits >> 63U != 0;
    return out;
  }
  [[nodiscard]] std::uint64_t pack() const {
    return (pending & kCountMask) | (expected & kCountMask) << kCountBits |
           (static_cast<std::uint64_t>(static_cast<std::uint32_t>(bytes_under_way)) & 0x7F'FFFFU)
               << 40U |
           std::uint64_t{parity} << 63U;
  }
  void arrive(std::uint32_t count) { pending -= std::min(pending, count); }
  /// Ends the phase if nothing is missing.
  void settle() {
    if (pending != 0 || bytes_under_way != 0) return;
    parity = !parity;
    pending = expected;
  }
};

/// An arrival of each active lane at the object that `op` addresses; if it does not `count`, the
/// object only learns that what it was promised has come.
void arrive_once(Warp& w, const Op& op, bool counts);

bool lower_mbarrier(Lowering& lowering, const ptx::Instruction& instruction);

}  // namespace cuco::vgpu
