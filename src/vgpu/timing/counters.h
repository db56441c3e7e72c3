// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a grid did, counted: the input of reports and of the time model's explanation.
#pragma once

#include <array>
#include <cstdint>

#include "vgpu/timing/time.h"

namespace cuco::vgpu {

/// Which unit executes an operation; costs come from the hardware description.
enum class CostClass : std::uint8_t {
  Move,     ///< mov, selp, predicates, special registers
  Integer,  ///< 32-bit integer and logic
  Wide,     ///< 64-bit integer, multiplication, division steps
  Float,    ///< f32 and packed half
  Double,
  Special,  ///< rcp, sqrt, ex2…
  Convert,
  Memory,  ///< address path of global, local, generic accesses
  Shared,
  Atomic,
  Tensor,
  Barrier,
  Control,
  Count,
};

struct Counters {
  /// Thread-instructions and warp-instructions issued, by class.
  std::array<std::uint64_t, static_cast<std::size_t>(CostClass::Count)> threads{};
  std::array<std::uint64_t, static_cast<std::size_t>(CostClass::Count)> warps{};
  std::uint64_t thread_instructions = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t global_loads = 0;  ///< Warp-level accesses.
  std::uint64_t global_stores = 0;
  std::uint64_t sectors = 0;  ///< 32-byte sectors asked of L1/L2.
  std::uint64_t l1_hits = 0;  ///< Sectors.
  std::uint64_t l2_hits = 0;
  std::uint64_t hbm_bytes = 0;
  std::uint64_t local_sectors = 0;   ///< Of local memory, in `sectors` too.
  std::uint64_t remote_bytes = 0;    ///< Of other GPUs and the host; sectors travel whole.
  std::uint64_t shared_cycles = 0;   ///< Passes of shared memory, and of constants that differ.
  std::uint64_t bank_conflicts = 0;  ///< Extra shared-memory passes.
  std::uint64_t divergent_branches = 0;
  std::uint64_t barriers = 0;  ///< Arrivals of warps.
  std::uint64_t atomics = 0;
  std::uint64_t parks = 0;  ///< Spins put to sleep.
  VTime waiting = 0;        ///< Warp-time parked, at barriers and asleep.
  std::uint32_t blocks = 0;
};

}  // namespace cuco::vgpu
