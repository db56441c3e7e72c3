// SPDX-License-Identifier: Apache-2.0
// Load buffering and 2+2W: a load or store runs after a later store of its own thread.
//
// The access is skipped; the ops up to the store run; then, in a new quantum, the warp jumps back
// to it, executes it with the addresses and data of the first time, and goes on behind the store.
// Only straight-line code without other memory accesses in between qualifies, and only a warp that
// has not diverged, so nothing can join it half way. Observers see a load where it stands.
//
// A load may even wait behind a fence: those whom the fence's scope does not include may see the
// store first. For the others the load has been done once they see the store. So, when the load
// runs:
//   - if one of them has read what the store wrote, or came after the fence in the order of
//   fence.sc,
//     the load gets what was there when it was put off, as if it had never waited;
//   - if not, whoever of them reads the store from now on must know of what the load has seen: the
//     message of the store, and what the fence has released, are completed with that.
// Acquire loads and release stores are such fences. Those of system scope are for everybody, hosts
// and NICs among them: nothing waits behind them.
#include <algorithm>
#include <cstring>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/weak/weak_memory.h"

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

/// The store that an access can be put off behind, and the fences on the way there.
struct Way {
  const Op* store = nullptr;  ///< Null: none.
  bool crosses = false;
  bool crosses_sc = false;
  Scope widest = Scope::Cta;

  void cross(const MemoryAux& aux) {
    crosses = true;
    crosses_sc |= aux.order == Order::Sc;
    widest = std::max(widest, aux.scope);
  }
};

Way find_store(const Warp& w, const Op& access) {
  const Kernel& kernel = *w.kernel;
  const auto first = static_cast<std::size_t>(&access - kernel.ops.data());
  const std::size_t end = std::min(kernel.ops.size(), first + kLookAhead);
  Way way;
  if (const MemoryAux aux = MemoryAux::unpack(access.aux); is_ordered(aux)) way.cross(aux);
  for (std::size_t i = first + 1; i < end; ++i) {
    const Op& op = kernel.ops[i];
    const ptx::Instruction* instruction = kernel.origins[op.source].instruction;
    const bool is_needed = (op.wait_slots & access.set_slots) != 0;
    if (kernel.leaders[i] || is_needed || instruction == nullptr) break;
    const MemoryAux aux = MemoryAux::unpack(op.aux);
    const bool guarded = (op.flags & Op::Guarded) != 0;
    if (instruction->opcode == ptx::Opcode::St) {
      if (guarded || !is_global(aux)) break;
      if (is_ordered(aux)) way.cross(aux);
      way.store = &op;
      break;
    }
    if (instruction->opcode == ptx::Opcode::Fence || instruction->opcode == ptx::Opcode::Membar) {
      if (guarded) break;
      way.cross(aux);
    } else if (op.cost >= CostClass::Memory) {
      break;  // Memory, barriers, control.
    }
  }
  return way;
}

/// The lanes of a register, all 32 of them.
std::byte* lanes_of(const Warp& w, Ref ref) {
  return w.bank[ref >> 31U] + (ref & ~kConstantBit);
}

/// Exchanges what the store's registers hold with what was saved.
void swap_registers(const Warp& w, const WeakMemory::Data& data, std::vector<std::byte>& saved) {
  const std::size_t each = std::size_t{data.slot} * kLanes;
  std::vector<std::byte> current(saved.size());
  for (unsigned v = 0; v < data.count; ++v)
    std::memcpy(current.data() + v * each, lanes_of(w, data.refs[v]), each);
  for (unsigned v = 0; v < data.count; ++v) {
    if ((data.refs[v] & kConstantBit) != 0) continue;
    std::memcpy(lanes_of(w, data.refs[v]), saved.data() + v * each, each);
  }
  saved = std::move(current);
}

}  // namespace

bool WeakMemory::postpone(Warp& w, const Op& op, const LaneAddresses& addresses) {
  Thread& thread = thread_of(w);
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  if (thread.postponed.op != nullptr || w.splits.size() != 1 || w.active != w.mask ||
      (op.flags & Op::Guarded) != 0 || !is_global(aux)) {
    return false;
  }
  const Way way = find_store(w, op);
  if (way.store == nullptr || (way.crosses && level_of(way.widest) == kSystem)) return false;
  bool is_plain = true;
  for_active(w.active, [&](unsigned l) {
    is_plain &= is_mapped_region(addresses[l]) &&
                (memory_.granule(addresses[l]).flags & Granule::Valid) != 0;
  });
  if (!is_plain) return false;
  Postponed& postponed = thread.postponed;
  postponed.op = &op;
  postponed.store = way.store;
  postponed.lanes = w.active;
  postponed.bytes = std::uint32_t{aux.bytes} * aux.vector;
  postponed.addresses = addresses;
  postponed.crosses = way.crosses;
  postponed.crosses_sc = way.crosses_sc;
  postponed.crossed = level_of(way.widest);
  postponed.began = now_;
  return true;
}

bool WeakMemory::postpone_load(Warp& w, const Op& op) {
  if (op.set_slots == 0 || is_replay(thread_of(w), op) || !roll(settings_.postpone_percent)) {
    return false;
  }
  LaneAddresses addresses{};
  gather_addresses(w, op, addresses);
  if (!postpone(w, op, addresses)) return false;
  Thread& thread = thread_of(w);
  Postponed& postponed = thread.postponed;
  postponed.saved.resize(std::size_t{postponed.bytes} * kLanes);
  // It has seen what is there now, whatever it will be given.
  for_active(w.active, [&](unsigned l) {
    std::memcpy(postponed.saved.data() + std::size_t{l} * postponed.bytes, Memory::at(addresses[l]),
                postponed.bytes);
    see_newest(w, thread, op, memory_.canonical(addresses[l]), postponed.bytes);
  });
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  if (is_ordered(aux)) acquire(thread, level_of(aux.scope));
  account(w, op, AccessKind::Load, addresses, postponed.bytes);
  return true;
}

void WeakMemory::see_newest(
    const Warp& w, Thread& thread, const Op& op, Address address, std::uint32_t bytes) {
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  std::uint64_t oldest = known_anyway(thread);
  const std::vector<Overlap>& overlaps = find_overlaps(w, thread, address, bytes, oldest);
  if (overlaps.empty()) return;
  for (const Overlap& overlap : overlaps)
    note_read(thread, *overlap.record, aux.order, level_of(aux.scope));
  if (overlaps.front().record->time <= oldest) return;
  for (Address word = address / 4; word <= (address + bytes - 1) / 4; ++word)
    thread.view.see_word(word, now_);
}

const std::byte* WeakMemory::find_saved(const Postponed& postponed, Address address) {
  std::size_t lane = 0;
  while ((postponed.lanes >> lane & 1U) == 0 || postponed.addresses[lane] != address)
    ++lane;
  return postponed.saved.data() + lane * postponed.bytes;
}

bool WeakMemory::before_load(Warp& w, const Op& op, LaneAddresses& addresses) {
  const Thread& thread = thread_of(w);
  if (!is_replay(thread, op)) return false;
  addresses = thread.postponed.addresses;
  return true;
}

bool WeakMemory::postpone_store(Warp& w,
                                const Op& op,
                                const LaneAddresses& addresses,
                                const Data& data) {
  if (!roll(settings_.postpone_percent) || !postpone(w, op, addresses)) return false;
  Postponed& postponed = thread_of(w).postponed;
  if (postponed.crosses) {
    // What a fence does for a later store it does for this one.
    postponed = {};
    return false;
  }
  postponed.data = data;
  for (unsigned v = 0; v < data.count; ++v) {
    const std::byte* from = lanes_of(w, data.refs[v]);
    postponed.saved.insert(postponed.saved.end(), from, from + std::size_t{data.slot} * kLanes);
  }
  return true;
}

bool WeakMemory::collides(const Warp& w,
                          const LaneAddresses& addresses,
                          std::uint32_t bytes,
                          const Postponed& postponed) const {
  bool result = false;
  for_active(w.active, [&](unsigned l) {
    const Address a = is_mapped_region(addresses[l]) ? memory_.canonical(addresses[l]) : 0;
    for_active(postponed.lanes, [&](unsigned m) {
      const Address b = memory_.canonical(postponed.addresses[m]);
      result |= a < b + postponed.bytes && b < a + bytes;
    });
  });
  return result;
}

bool WeakMemory::before_store(Warp& w, const Op& op, LaneAddresses& addresses, const Data& data) {
  Thread& thread = thread_of(w);
  Postponed& postponed = thread.postponed;
  if (is_replay(thread, op)) {
    addresses = postponed.addresses;
    swap_registers(w, data, postponed.saved);
    return false;
  }
  if (postponed.op == nullptr) return postpone_store(w, op, addresses, data);
  if (postponed.store != &op || postponed.resume != nullptr) return false;
  if (!collides(w, addresses, data.bytes, postponed)) return false;
  // The order of accesses to one place stays.
  --w.ip;
  w.flush_segment();
  postponed.resume = &op;
  w.go_to(postponed.op);
  ++w.epoch;
  return true;
}

void WeakMemory::after_store(Warp& w, const Op& op) {
  Thread& thread = thread_of(w);
  Postponed& postponed = thread.postponed;
  if (postponed.op == nullptr || w.trapped()) return;
  if (is_replay(thread, op)) {
    swap_registers(w, postponed.data, postponed.saved);
    settle(w, thread);
    return;
  }
  if (postponed.store != &op || postponed.resume != nullptr) return;
  w.flush_segment();
  postponed.resume = w.ip;
  w.go_to(postponed.op);
  ++w.epoch;
  // Others run now.
  w.clock += static_cast<VTime>(rng_.below(static_cast<std::uint64_t>(kLongestPause)));
  w.limit = w.clock - 1;
  w.stop = w.ip;
}

std::shared_ptr<const WeakMemory::Message> WeakMemory::hand_out(Thread& thread,
                                                                const Op& op,
                                                                const Message& own) {
  auto message = std::make_shared<Message>(own);
  Postponed& postponed = thread.postponed;
  if (postponed.crosses && postponed.store == &op && postponed.resume == nullptr) {
    message->waits = true;
    message->crossed = postponed.crossed;
    postponed.message = message;
  }
  return message;
}

bool WeakMemory::is_overtaken(const Thread& thread) {
  const Postponed& postponed = thread.postponed;
  if (postponed.message != nullptr && postponed.message->is_observed) return true;
  const auto orders = sc_orders(thread);
  for (unsigned level = 0; level < kLevels; ++level) {
    const std::uint64_t mine = postponed.sc_fences[level];
    if (mine != 0 && orders[level]->fences != mine) return true;
  }
  return false;
}

void WeakMemory::settle(Warp& w, Thread& thread) {
  const Postponed done = std::exchange(thread.postponed, {});
  w.flush_segment();
  w.go_to(done.resume);
  ++w.epoch;
  if (!done.crosses) return;
  acquire(thread, done.crossed);
  const auto orders = sc_orders(thread);
  for (unsigned level = 0; level <= done.crossed; ++level) {
    if (done.sc_fences[level] == 0) continue;
    orders[level]->view.join(thread.view);
    orders[level]->floor = std::max(orders[level]->floor, thread.floor);
  }
  release(thread, done.crossed);
  if (done.message == nullptr) return;
  for (unsigned level = 0; level <= done.crossed; ++level)
    done.message->released[level] = thread.released[level];
  done.message->waits = false;
}

}  // namespace cuco::vgpu
