// SPDX-License-Identifier: Apache-2.0
/// \file
/// The lowered instruction: what the interpreter's inner loop touches.
#pragma once

#include <cstdint>

#include "vgpu/timing/counters.h"

namespace cuco::vgpu {

struct Op;
struct Warp;

/// Executes one operation for the lanes in `warp.active` (never 0).
using Handler = void (*)(Warp& warp, const Op& op);

/// A register or constant vector: byte offset into the frame's register file, or, with the top
/// bit, into the kernel's pool of broadcast constants. Predicates: an index into the mask file.
using Ref = std::uint32_t;
inline constexpr Ref kConstantBit = 0x8000'0000U;
inline constexpr Ref kNoRef = 0xFFFF'FFFFU;  ///< `_`, or no operand.

inline constexpr std::uint32_t kFullMask = 0xFFFF'FFFFU;
inline constexpr unsigned kLanes = 32;

/// One cache line. What `imm`, `aux` and `list` mean is up to the handler.
struct alignas(64) Op {
  enum Flag : std::uint8_t {
    Guarded = 1,
    GuardNegated = 2,
    WaitsForLoads = 4,  ///< Consumes a loaded register: wait_slots says which.
    MeetsByMask = 8,    ///< A .sync op with operands as exec_meet.cc knows them.
  };
  Handler run = nullptr;
  Ref dst = kNoRef;
  Ref a = kNoRef;
  Ref b = kNoRef;
  Ref c = kNoRef;
  Ref d = kNoRef;                ///< Fourth source or second destination.
  std::uint32_t list = 0;        ///< Index into Kernel::refs: operand lists longer than the above.
  std::uint64_t imm = 0;         ///< Address offset, immediate, branch target…
  std::uint32_t aux = 0;         ///< Modifiers, packed by the family that lowers the op.
  std::uint16_t guard = 0;       ///< Predicate index.
  std::uint16_t wait_slots = 0;  ///< Mask of scoreboard slots.
  std::uint16_t set_slots = 0;   ///< Loads: scoreboard slots of their results.
  std::uint8_t flags = 0;
  CostClass cost = CostClass::Move;
  std::uint32_t source = 0;  ///< Index into Kernel::origins: the PTX instruction.
  /// Memory ops whose base register has the same value have the same key: 0, none.
  std::uint16_t pattern_key = 0;
};
static_assert(sizeof(Op) == 64);

}  // namespace cuco::vgpu
