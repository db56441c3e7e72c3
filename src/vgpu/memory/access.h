// SPDX-License-Identifier: Apache-2.0
/// \file
/// The memory port of handlers: addresses, bounds, and the bookkeeping of every access.
///
/// A handler that touches memory does, in this order:
///   1. gather_addresses   the 32 lane addresses of the operand
///   2. resolve            per active lane: server memory, or null after a trap
///   3. read or write it
///   4. after_write        per lane written: wakes whoever watches those bytes
///   5. account            once per op: observer, counters, time (call it before 3 for loads)
///   6. note_strong_read   strong loads and atomics: the spin detector
#pragma once

#include <array>
#include <cstdint>

#include "vgpu/gpu/warp.h"

namespace cuco::vgpu {

/// How memory ops pack Op::aux: every family that uses Lowering::memory_operand has it.
struct MemoryAux {
  ptx::Space space = ptx::Space::Generic;
  Order order = Order::Weak;
  Scope scope = Scope::Sys;
  std::uint8_t bytes = 4;   ///< Of one element.
  std::uint8_t vector = 1;  ///< Elements.
  bool narrow = false;      ///< The address register has 32 bits.
  bool no_l1 = false;       ///< .cg, .cv, no_allocate: bypasses L1.
  std::uint8_t user = 0;    ///< Free for the family.

  /// A load that nothing keeps from the beginning of its basic block; set when all is lowered.
  static constexpr unsigned kEarlyBit = 22;

  [[nodiscard]] constexpr std::uint32_t pack() const {
    return static_cast<std::uint32_t>(space) | static_cast<std::uint32_t>(order) << 3U |
           static_cast<std::uint32_t>(scope) << 6U | static_cast<std::uint32_t>(bytes) << 8U |
           static_cast<std::uint32_t>(vector) << 16U | static_cast<std::uint32_t>(narrow) << 20U |
           static_cast<std::uint32_t>(no_l1) << 21U | static_cast<std::uint32_t>(user) << 24U;
  }
  [[nodiscard]] static constexpr MemoryAux unpack(std::uint32_t aux) {
    MemoryAux out;
    out.space = static_cast<ptx::Space>(aux & 7U);
    out.order = static_cast<Order>(aux >> 3U & 7U);
    out.scope = static_cast<Scope>(aux >> 6U & 3U);
    out.bytes = static_cast<std::uint8_t>(aux >> 8U & 0xFFU);
    out.vector = static_cast<std::uint8_t>(aux >> 16U & 0xFU);
    out.narrow = (aux >> 20U & 1U) != 0;
    out.no_l1 = (aux >> 21U & 1U) != 0;
    out.user = static_cast<std::uint8_t>(aux >> 24U);
    return out;
  }
};

/// MemoryAux::user of ld and st: a function's parameter, which a GPU passes in registers.
inline constexpr std::uint8_t kInRegisters = 1;

/// MemoryAux::user of atomics: what decides their price.
enum AtomicBit : std::uint8_t {
  AtomicIsUniform = 1,  ///< ptxas sees that all lanes mean one word, and has the warp add up first.
  AtomicIsFloat = 2,    ///< Slower in the L2, and a loop of compare-and-swap in shared memory.
  AtomicIsUnread = 4,   ///< Nobody reads its result: ptxas makes it a reduction.
  AtomicCounts = 8,     ///< Adds one to a word, and nobody reads what was there before.
};

using LaneAddresses = std::array<Address, kLanes>;

/// Addresses of the memory operand: register op.a + op.imm, in the space's own terms.
void gather_addresses(const Warp& w, const Op& op, LaneAddresses& out);

/// Server memory behind `bytes` at a lane's address in `space`; null after raising a trap
/// (unmapped, misaligned, peer not allowed). Generic addresses may lead to shared or local memory.
[[nodiscard]] std::byte* resolve(
    Warp& w, const Op& op, ptx::Space space, unsigned lane, Address address, std::uint32_t bytes);

/// Tells watchers, and the spin detector that this warp made progress. `space` as in resolve.
void after_write(Warp& w, ptx::Space space, Address address, std::uint32_t bytes);

/// Tells the observer of one warp-wide access, by the spaces that the lanes really go to. There is
/// an observer. `copy`: the bulk copy that it is part of.
void observe(Warp& w,
             const Op& op,
             AccessKind kind,
             const LaneAddresses& addresses,
             std::uint32_t bytes,
             const BulkCopy* copy = nullptr);

/// Observer, counters and time of one warp-wide access. `bytes` per lane, all elements. Each lane
/// pays for the memory that it goes to: shared, local, constant, this GPU's, a peer's, the host's,
/// or all members of a multicast. For loads it also sets the scoreboard slots of the op.
void account(
    Warp& w, const Op& op, AccessKind kind, const LaneAddresses& addresses, std::uint32_t bytes);

/// The time of multimem: all active lanes have multicast addresses. The observer is the caller's
/// business.
void account_multicast(
    Warp& w, const Op& op, AccessKind kind, const LaneAddresses& addresses, std::uint32_t bytes);

/// Tells the observer of a row, before account_range. There is an observer.
void observe_row(const Warp& w, RowEvent row);

/// The same for a contiguous range of the device's own memory that all 32 lanes share out.
void account_range(Warp& w, const Op& op, AccessKind kind, Address start, std::uint32_t bytes);
/// When a copy of a contiguous range of anybody's memory, which a lane has only begun, is there.
[[nodiscard]] VTime bulk_time(
    Warp& w, const Op& op, AccessKind kind, Address start, std::uint32_t bytes);
/// When the L2 has reduced a range, word by word, as if a reduction had been sent for each.
[[nodiscard]] VTime bulk_reduce_time(Warp& w, Address start, std::uint32_t bytes, bool is_float);

/// Passes of shared memory for these lanes.
void count_bank_conflicts(Warp& w,
                          std::uint32_t lanes,
                          const LaneAddresses& addresses,
                          std::uint32_t bytes);
void count_shared_atomics(Warp& w,
                          const Op& op,
                          std::uint32_t lanes,
                          const LaneAddresses& addresses,
                          std::uint32_t bytes);

/// After a strong load, or an atomic that changed nothing: `digest` stands for the values read.
/// If nothing changes between two visits, the split is parked on all it has read meanwhile, and
/// re-executes the op when woken.
void note_strong_read(Warp& w,
                      const Op& op,
                      const LaneAddresses& addresses,
                      std::uint32_t bytes,
                      std::uint64_t digest);
/// Leaves the op for later: others have lower clocks. The handler returns at once.
void yield_before(Warp& w, const Op& op);
/// The active lanes wait until then, or until somebody writes what they have read, and go on with
/// what they have.
void sleep_until(
    Warp& w, const Op& op, const LaneAddresses& addresses, std::uint32_t bytes, VTime when);

/// After an atomic or store that changed memory.
inline void note_progress(Warp& w) {
  ++w.progress;
  w.reads_clock = false;
}

}  // namespace cuco::vgpu
