// SPDX-License-Identifier: Apache-2.0
// Load buffering: a load that nothing needs yet runs after a later store of its own thread.
//
// The load is skipped; the ops up to the store run; then, in a new quantum, the warp jumps back to
// the load, executes it with the addresses of the first time, and goes on behind the store. Only
// straight-line code without other memory accesses in between qualifies, and only a warp that has
// not diverged, so nothing can join it half way.
#include <algorithm>

#include "vgpu/exec.h"
#include "vgpu/grid.h"
#include "vgpu/weak_memory.h"

namespace cuco::vgpu {

namespace {

constexpr std::size_t kLookAhead = 16;
constexpr VTime kLongestPause = 3 * kMicrosecond;

bool is_ordered(const MemoryAux& aux) {
  return aux.order == Order::Acquire || aux.order == Order::Release || aux.order == Order::AcqRel ||
         aux.order == Order::Sc;
}

bool is_global(const MemoryAux& aux) {
  return aux.space == ptx::Space::Global || aux.space == ptx::Space::Generic;
}

/// The store that the load can be put off behind; null: none.
const Op* find_store(const Warp& w, const Op& load) {
  const Kernel& kernel = *w.kernel;
  const auto first = static_cast<std::size_t>(&load - kernel.ops.data());
  const std::size_t end = std::min(kernel.ops.size(), first + kLookAhead);
  for (std::size_t i = first + 1; i < end; ++i) {
    const Op& op = kernel.ops[i];
    if (kernel.leaders[i] || (op.wait_slots & load.set_slots) != 0) return nullptr;
    const ptx::Opcode opcode = kernel.origins[op.source].instruction->opcode;
    if (opcode == ptx::Opcode::St) {
      const MemoryAux aux = MemoryAux::unpack(op.aux);
      const bool plain = (op.flags & Op::Guarded) == 0 && is_global(aux) && !is_ordered(aux);
      return plain ? &op : nullptr;
    }
    if (op.cost >= CostClass::Memory) return nullptr;  // Memory, barriers, control.
  }
  return nullptr;
}

}  // namespace

bool WeakMemory::postpone(Warp& w, const Op& op) {
  if (!roll(settings_.postpone_percent)) return false;
  Thread& thread = thread_of(w);
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  if (thread.postponed.load != nullptr || w.splits.size() != 1 || w.active != w.mask ||
      (op.flags & Op::Guarded) != 0 || op.set_slots == 0 || !is_global(aux) || is_ordered(aux)) {
    return false;
  }
  const Op* store = find_store(w, op);
  if (store == nullptr) return false;
  Postponed& postponed = thread.postponed;
  postponed.load = &op;
  postponed.store = store;
  postponed.lanes = w.active;
  postponed.bytes = std::uint32_t{aux.bytes} * aux.vector;
  gather_addresses(w, op, postponed.addresses);
  return true;
}

void WeakMemory::before_load(Warp& w, const Op& op, LaneAddresses& addresses) {
  const Thread& thread = thread_of(w);
  if (thread.postponed.load == &op && thread.postponed.resume != nullptr) {
    addresses = thread.postponed.addresses;
  }
}

bool WeakMemory::before_store(Warp& w,
                              const Op& op,
                              const LaneAddresses& addresses,
                              std::uint32_t bytes) {
  Thread& thread = thread_of(w);
  Postponed& postponed = thread.postponed;
  if (postponed.store != &op || postponed.resume != nullptr) return false;
  bool collides = false;
  for_active(w.active, [&](unsigned l) {
    for_active(postponed.lanes, [&](unsigned m) {
      const Address a = is_mapped_region(addresses[l]) ? memory_.canonical(addresses[l]) : 0;
      const Address b =
          is_mapped_region(postponed.addresses[m]) ? memory_.canonical(postponed.addresses[m]) : 0;
      collides |= a < b + postponed.bytes && b < a + bytes;
    });
  });
  if (!collides) return false;
  // The same thread's later store is not to be seen by the load.
  --w.ip;
  w.flush_segment();
  postponed.resume = &op;
  w.ip = postponed.load;
  w.segment = w.ip;
  return true;
}

void WeakMemory::after_store(Warp& w) {
  Thread& thread = thread_of(w);
  Postponed& postponed = thread.postponed;
  if (postponed.store == nullptr || postponed.resume != nullptr || w.trapped()) return;
  if (w.ip != postponed.store + 1) return;
  w.flush_segment();
  postponed.resume = w.ip;
  w.ip = postponed.load;
  w.segment = w.ip;
  // Others run now.
  w.clock += static_cast<VTime>(rng_.below(static_cast<std::uint64_t>(kLongestPause)));
  w.limit = w.clock - 1;
  w.stop = w.ip;
}

}  // namespace cuco::vgpu
