// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operands of .sync operations that meet by mask (Op::MeetsByMask): a value or predicate in `a`,
/// 32 bits in `b` and `c`, the members in `d`, a result in `dst`, a predicate in `imm` (0: none).
#pragma once

#include <cstdint>

namespace cuco::vgpu {

/// Op::aux of such an operation. Two of them are the same if handler and shape are.
struct SyncShape {
  enum Bit : std::uint32_t {
    TakesPredicate = 1,  ///< `a` is a predicate.
    TakesWide = 2,       ///< `a` has 64 bits.
    GivesPredicate = 4,  ///< `dst` is a predicate.
  };
};

}  // namespace cuco::vgpu
