// SPDX-License-Identifier: Apache-2.0
/// \file
/// cp.async.bulk and cp.reduce.async.bulk of one dimension: copies that a thread only begins. They
/// take effect when they arrive, not before: a program that does not wait for them gets old data
/// here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vgpu/lower/lowering.h"
#include "vgpu/lower/op.h"
#include "vgpu/memory/address_map.h"
#include "vgpu/timing/time.h"

namespace cuco::vgpu {

struct Block;
struct Warp;

/// Combines one element of global memory with another, which it replaces.
using Reduction = void (*)(std::byte* to, const std::byte* from);
/// Of red and cp.reduce; null: there is none of this kind and type.
[[nodiscard]] Reduction reduction_of(const ptx::Instruction& instruction);

/// One copy under way between global memory, anybody's, and the block's shared memory.
struct BulkCopy {
  std::uint64_t number = 0;  ///< In its block.
  const Op* op = nullptr;    ///< The instruction that began it,
  Warp* warp = nullptr;      ///< and who did.
  Address global = 0;
  Address shared = 0;
  Address object = 0;  ///< The mbarrier that is told of the arrival, of copies to shared memory.
  std::uint32_t bytes = 0;
  std::uint8_t lane = 0;
  bool to_shared = false;
  bool performed = false;
  bool parity = false;      ///< Of the mbarrier's phase that it has arrived in.
  std::uint64_t group = 0;  ///< Of copies to global memory: the lane's commit number.
  /// Of cp.reduce: what becomes of each element of the target; null: it is overwritten.
  Reduction reduce = nullptr;
  std::uint8_t element = 0;
  VTime read = 0;  ///< When the source has been read.
  VTime done = 0;  ///< When it has arrived.
};

/// A wait for a phase of this parity of the mbarrier has succeeded.
void see_bulk(Warp& warp, Address object, bool parity);

/// Performs the block's copies that have arrived by `now`.
void deliver_bulk(Block& block, VTime now);

bool lower_bulk(Lowering& lowering, const ptx::Instruction& instruction);

}  // namespace cuco::vgpu
