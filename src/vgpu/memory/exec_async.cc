// SPDX-License-Identifier: Apache-2.0
// cp.async and its groups (PTX ISA 9.7.9.25.3).
//
// A copy takes effect when its group is waited for, not when it is issued: a program that reads too
// early gets old data here, always, instead of sometimes on hardware.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "vgpu/exec/exec.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/memory/access.h"
#include "vgpu/memory/bulk.h"
#include "vgpu/memory/lane_memory.h"
#include "vgpu/memory/mbarrier.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Space;
using ptx::Type;

constexpr std::uint64_t kUncommitted = std::numeric_limits<std::uint64_t>::max();
constexpr unsigned kSpareSlot = 15;
enum UserBit : std::uint8_t { NarrowTarget = 1, HasSize = 2, HasPredicate = 4 };

using LaneSizes = std::array<std::uint16_t, 32>;

/// How much each lane reads: less than it writes where a size or a predicate says so.
LaneSizes source_sizes(Warp& w, const Op& op, const MemoryAux& aux) {
  LaneSizes sizes{};
  const std::uint32_t ignore = (aux.user & HasPredicate) != 0 ? w.predicate(op.c) : 0;
  for_active(w.active & ~ignore, [&](unsigned l) {
    const std::uint32_t wanted =
        (aux.user & HasSize) != 0 ? w.slots<std::uint32_t>(op.c)[l] : aux.bytes;
    sizes[l] = static_cast<std::uint16_t>(std::min<std::uint32_t>(wanted, aux.bytes));
  });
  return sizes;
}

/// When the global data is there: the time model answers through a scoreboard slot, borrowed here.
/// Lanes that read the same number of bytes are one access; those that read none are none.
VTime arrival(Warp& w, const Op& op, const LaneAddresses& sources, const LaneSizes& sizes) {
  const VTime saved = w.load_ready[kSpareSlot];
  const std::uint32_t active = w.active;
  VTime done = w.clock;
  for (std::uint32_t left = active; left != 0; left &= ~w.active) {
    const std::uint16_t bytes = sizes[static_cast<unsigned>(std::countr_zero(left))];
    w.active = 0;
    for_active(left, [&](unsigned l) { w.active |= (sizes[l] == bytes ? 1U : 0U) << l; });
    if (bytes == 0) continue;
    w.load_ready[kSpareSlot] = w.clock;
    account(w, op, AccessKind::Load, sources, bytes);
    done = std::max(done, w.load_ready[kSpareSlot]);
  }
  w.active = active;
  w.load_ready[kSpareSlot] = saved;
  return done;
}

void exec_copy(Warp& w, const Op& op) {
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  LaneAddresses sources;
  gather_addresses(w, op, sources);
  const LaneSizes sizes = source_sizes(w, op, aux);
  const VTime done = arrival(w, op, sources, sizes);
  const bool is_narrow = (aux.user & NarrowTarget) != 0;
  for_active(w.active, [&](unsigned l) {
    if (w.trapped()) return;
    const auto target = static_cast<std::uint32_t>(
        (is_narrow ? w.slots<std::uint32_t>(op.b)[l] : w.slots<std::uint64_t>(op.b)[l]) + op.list);
    // Addresses are checked when the copy is issued: the trap names this instruction.
    if (sizes[l] != 0) {
      const std::byte* from = lane_memory(w, op, aux.space, l, sources[l], aux.bytes);
      if (from == nullptr) return;
      __builtin_prefetch(from);  // It is read when somebody waits for it.
    }
    if (lane_memory(w, op, Space::Shared, l, target, aux.bytes) == nullptr) return;
    w.async.push_back({.op = &op,
                       .group = kUncommitted,
                       .source = sources[l],
                       .shared = target,
                       .bytes = aux.bytes,
                       .source_bytes = sizes[l],
                       .lane = static_cast<std::uint8_t>(l),
                       .done = done});
  });
}

/// memcpy for the sizes that there are, which need no call.
void copy_few(std::byte* to, const std::byte* from, std::size_t bytes) {
  switch (bytes) {
    case 16:
      std::memcpy(to, from, 16);
      return;
    case 8:
      std::memcpy(to, from, 8);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    default:
      std::memcpy(to, from, bytes);
  }
}

void perform(Warp& w, const AsyncCopy& copy) {
  std::byte* to = lane_memory(w, *copy.op, Space::Shared, copy.lane, copy.shared, copy.bytes);
  if (to == nullptr) return;
  if (copy.source_bytes != 0) {
    const MemoryAux aux = MemoryAux::unpack(copy.op->aux);
    const std::byte* from = lane_memory(w, *copy.op, aux.space, copy.lane, copy.source, copy.bytes);
    if (from == nullptr) return;
    copy_few(to, from, copy.source_bytes);
  }
  if (copy.source_bytes < copy.bytes)
    std::memset(to + copy.source_bytes, 0, std::size_t{copy.bytes} - copy.source_bytes);
  after_write(w, Space::Shared, copy.shared, copy.bytes);
}

/// The observer sees the writes as stores of the issuing instruction, a warp's worth at a time.
void report(Warp& w, const AsyncCopy* first, const AsyncCopy* last) {
  if (w.observer == nullptr) return;
  const std::uint32_t active = w.active;
  Op store = *first->op;
  MemoryAux aux;
  aux.space = Space::Shared;
  store.aux = aux.pack();
  store.set_slots = 0;
  LaneAddresses addresses{};
  w.active = 0;
  for (const AsyncCopy* copy = first; copy != last; ++copy) {
    addresses[copy->lane] = copy->shared;
    w.active |= 1U << copy->lane;
  }
  observe(w, store, AccessKind::Store, addresses, first->bytes);
  w.active = active;
}

/// Completes the copies of the active lanes that `is_due`, in the order of issue.
template <typename F>
void complete(Warp& w, F&& is_due) {
  const auto due = [&](const AsyncCopy& copy) {
    return (w.active >> copy.lane & 1U) != 0 && is_due(copy);
  };
  thread_local std::vector<AsyncCopy> ready;  // kept: one is needed for every step of a pipeline
  ready.clear();
  std::erase_if(w.async, [&](const AsyncCopy& copy) {
    if (!due(copy)) return false;
    ready.push_back(copy);
    return true;
  });
  if (ready.empty()) return;
  w.sync_clock();
  for (std::size_t i = 0; i < ready.size();) {
    std::size_t end = i + 1;
    while (end < ready.size() && ready[end].op == ready[i].op &&
           ready[end].lane > ready[end - 1].lane)
      ++end;
    report(w, ready.data() + i, ready.data() + end);
    for (; i < end && !w.trapped(); ++i) {
      perform(w, ready[i]);
      w.clock = std::max(w.clock, ready[i].done);
    }
    if (w.trapped()) return;
  }
}

void exec_commit(Warp& w, const Op&) {
  for (auto copy = w.async.rbegin(); copy != w.async.rend(); ++copy) {
    if (copy->group != kUncommitted || (w.active >> copy->lane & 1U) == 0) continue;
    copy->group = w.async_groups[copy->lane];
  }
  w.uses_async = true;
  for_active(w.active, [&](unsigned l) { ++w.async_groups[l]; });
}

/// All but the latest imm groups of a lane have to be there.
void exec_wait_group(Warp& w, const Op& op) {
  complete(w, [&](const AsyncCopy& copy) {
    return copy.group != kUncommitted && copy.group + op.imm < w.async_groups[copy.lane];
  });
}

void exec_wait_all(Warp& w, const Op&) {
  complete(w, [](const AsyncCopy&) { return true; });
}

/// The lanes' copies are there when they arrive: they are awaited here.
template <bool Counts>
void exec_arrive_after_copies(Warp& w, const Op& op) {
  w.sync_clock();
  if (w.clock > w.strict_limit) return yield_before(w, op);
  complete(w, [](const AsyncCopy&) { return true; });
  if (!w.trapped()) arrive_once(w, op, Counts);
}

bool lower_arrive(Lowering& lowering, const ptx::Instruction& in) {
  if (in.operands.size() != 1) return false;
  MemoryOperand memory = lowering.memory_operand(in.operands[0], Type::B64);
  memory.aux.order = Order::AcqRel;
  memory.aux.scope = Scope::Cta;
  memory.aux.bytes = 8;
  // Without .noinc the object counts one more, for this arrival.
  Op& op = lowering.emit(
      in.has(Modifier::Noinc) ? exec_arrive_after_copies<true> : exec_arrive_after_copies<false>,
      CostClass::Shared);
  memory.apply(op);
  return true;
}

bool lower_copy(Lowering& lowering, const ptx::Instruction& in) {
  const auto& operands = in.operands;
  if (operands.size() < 3 || operands[2].kind != ptx::Operand::Kind::Integer) return false;
  const std::int64_t bytes = operands[2].value;
  if (bytes != 4 && bytes != 8 && bytes != 16) return false;
  const MemoryOperand target = lowering.memory_operand(operands[0], Type::B128);
  MemoryOperand source = lowering.memory_operand(operands[1], Type::B128);
  source.aux.space = Space::Global;
  source.aux.bytes = static_cast<std::uint8_t>(bytes);
  source.aux.user = target.aux.narrow ? NarrowTarget : 0;
  Ref extra = kScratch;
  // A cache policy (64 bits) may follow; a size has 32 bits, a predicate none.
  if (operands.size() > 3) {
    const ptx::Operand& operand = operands[3];
    const std::uint32_t width = lowering.slot_bytes(operand);
    if (operand.kind == ptx::Operand::Kind::Integer || width == 4) {
      extra = lowering.source(operand, Type::B32);
      source.aux.user |= HasSize;
    } else if (width == 0) {
      extra = lowering.source_predicate(operand);
      source.aux.user |= HasPredicate;
    }
  }
  Op& op = lowering.emit(exec_copy, CostClass::Memory);
  source.apply(op);
  op.b = target.base;
  op.list = static_cast<std::uint32_t>(target.offset);
  op.c = extra;
  op.set_slots = 1U << kSpareSlot;
  return true;
}

}  // namespace

bool lower_async(Lowering& lowering, const ptx::Instruction& in) {
  if (!in.has(Modifier::Async)) return false;
  if (in.has(Modifier::Bulk)) return lower_bulk(lowering, in);
  if (in.has(Modifier::Mbarrier)) return lower_arrive(lowering, in);
  if (in.has(Modifier::CommitGroup)) {
    lowering.emit(exec_commit, CostClass::Control);
    return true;
  }
  if (in.has(Modifier::WaitAll)) {
    lowering.emit(exec_wait_all, CostClass::Control);
    return true;
  }
  if (in.has(Modifier::WaitGroup)) {
    if (in.operands.size() != 1 || in.operands[0].kind != ptx::Operand::Kind::Integer) return false;
    lowering.emit(exec_wait_group, CostClass::Control).imm =
        static_cast<std::uint64_t>(in.operands[0].value);
    return true;
  }
  return lower_copy(lowering, in);
}

}  // namespace cuco::vgpu
