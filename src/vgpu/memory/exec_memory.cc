// SPDX-License-Identifier: Apache-2.0
// ld, ldu, st (PTX ISA 9.7.9.8 to 9.7.9.12).
//
// Two address patterns make up nearly all accesses of real kernels: consecutive lanes, and all
// lanes the same. Both are recognised with a few vector compares and then cost one test of the
// granule table and one copy; everything else goes lane by lane.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "vgpu/exec/exec.h"
#include "vgpu/exec/fused.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/lower/kernel_builder.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/memory/access.h"
#include "vgpu/memory/lane_memory.h"
#include "vgpu/memory/patterns.h"
#include "vgpu/memory/release.h"
#include "vgpu/weak/weak_memory.h"

namespace cuco::vgpu {

namespace {

using ptx::Space;

/// The pattern of all 32 lanes and the first address, without storing the others.
Pattern find_pattern(Warp& w, const Op& op, std::uint32_t stride, Address& first) {
  if ((op.aux >> 20U & 1U) != 0) {
    const std::uint32_t* a = w.slots<std::uint32_t>(op.a);
    first = a[0] + static_cast<std::uint32_t>(op.imm);
    return known_pattern<std::uint32_t>(w, op, a, stride);
  }
  const std::uint64_t* a = w.slots<std::uint64_t>(op.a);
  first = a[0] + op.imm;
  if ((op.a & kConstantBit) != 0) return Pattern::Same;
  return known_pattern<std::uint64_t>(w, op, a, stride);
}

/// Global accesses of adversarial runs have to ask WeakMemory, lane by lane.
bool asks_weak_memory(const Warp& w, Space space) {
  return space == Space::Global && w.grid->weak != nullptr;
}

/// Passes of shared memory for a row of 32 lanes.
constexpr std::uint32_t shared_row_passes(std::uint32_t lane_bytes) {
  return std::max(1U, lane_bytes / 4);
}

/// A memory element as it lies in a register slot: sign- or zero-extended.
template <typename E, typename S>
S widen(const std::byte* from) {
  E element;
  std::memcpy(&element, from, sizeof element);
  if constexpr (std::is_same_v<E, S>) {
    return element;
  } else if constexpr (std::is_same_v<S, std::array<std::uint64_t, 2>>) {
    return {static_cast<std::uint64_t>(element), 0};
  } else {
    return static_cast<S>(element);  // Conversion of a signed E extends the sign.
  }
}

template <typename E, typename S>
void narrow(std::byte* to, const S& slot) {
  E element;
  if constexpr (std::is_same_v<E, S>) {
    element = slot;
  } else if constexpr (std::is_same_v<S, std::array<std::uint64_t, 2>>) {
    element = static_cast<E>(slot[0]);
  } else {
    element = static_cast<E>(slot);
  }
  std::memcpy(to, &element, sizeof element);
}

template <typename S>
S* destination(const Warp& w, Ref ref) {
  return reinterpret_cast<S*>(w.bank[ref >> 31U] + (ref & ~kConstantBit));
}

/// Where WeakMemory, if there is one, has a say.
constexpr bool is_weak_space(Space space) {
  return space == Space::Global || space == Space::Generic;
}

/// E: element in memory; S: slot; V: elements per lane; refs of element v in Kernel::refs.
template <typename E, typename S, unsigned V>
void load_lanes(Warp& w, const Op& op, const LaneAddresses& a, Space space) {
  const Ref* refs = V == 1 ? &op.dst : w.kernel->refs.data() + op.list;
  WeakMemory* const weak = is_weak_space(space) ? w.grid->weak : nullptr;
  for_active(w.active, [&](unsigned l) {
    if (w.trapped()) return;
    const std::byte* from = lane_memory(w, op, space, l, a[l], sizeof(E) * V);
    if (from == nullptr) return;
    std::array<std::byte, sizeof(E) * V> old;
    if (weak != nullptr) from = weak->read(w, op, a[l], sizeof(E) * V, from, old.data());
    for (unsigned v = 0; v < V; ++v) {
      destination<S>(w, refs[v])[l] = widen<E, S>(from + v * sizeof(E));
    }
  });
}

/// Copies what the pattern says from memory to the destination registers.
template <typename E, typename S, unsigned V>
void copy_in(Warp& w, const Op& op, const std::byte* from, bool row) {
  constexpr std::uint32_t kLaneBytes = sizeof(E) * V;
  const Ref* refs = V == 1 ? &op.dst : w.kernel->refs.data() + op.list;
  for (unsigned v = 0; v < V; ++v) {
    S* d = destination<S>(w, refs[v]);
    if (row) {
#pragma GCC ivdep
      for (unsigned l = 0; l < kLanes; ++l) {
        d[l] = widen<E, S>(from + l * kLaneBytes + v * sizeof(E));
      }
    } else {
      const S value = widen<E, S>(from + v * sizeof(E));
#pragma GCC ivdep
      for (unsigned l = 0; l < kLanes; ++l)
        d[l] = value;
    }
  }
}

template <typename E, typename S, unsigned V>
bool load_pattern(Warp& w, const Op& op) {
  constexpr std::uint32_t kLaneBytes = sizeof(E) * V;
  Address first = 0;
  const Pattern pattern = find_pattern(w, op, kLaneBytes, first);
  if (pattern == Pattern::Other) return false;
  const Space space = settle_space(static_cast<Space>(op.aux & 7U), first);
  const bool row = pattern == Pattern::Consecutive;
  const std::uint32_t bytes = row ? kLaneBytes * kLanes : kLaneBytes;
  const std::byte* from = quick_range(w, space, first, bytes, kLaneBytes);
  if (from == nullptr) return false;
  // A generic address that leads to shared memory sets a scoreboard slot.
  if (space != Space::Global && op.set_slots != 0) return false;
  if (w.observer != nullptr) {
    if (asks_weak_memory(w, space)) return false;
    observe_row(w, {&op, first, kLaneBytes, AccessKind::Load, space, !row});
  }
  if (space == Space::Global) {
    // It comes while the time model works; and the next warp mostly wants what is behind it.
    __builtin_prefetch(from);
    __builtin_prefetch(from + bytes);
    if (bytes > 64) {
      __builtin_prefetch(from + 64);
      __builtin_prefetch(from + bytes + 64);
    }
    account_range(w, op, AccessKind::Load, first, bytes);
  } else {
    w.shared_passes += row ? shared_row_passes(kLaneBytes) : 1;
  }
  copy_in<E, S, V>(w, op, from, row);
  return true;
}

/// All lanes, here and there within one stretch of memory: one test for all of them, then plain
/// loads. False: take the slow way.
template <typename E, typename S, unsigned V>
bool load_scattered(Warp& w, const Op& op, const LaneAddresses& a, Space space) {
  constexpr std::uint32_t kLaneBytes = sizeof(E) * V;
  Address differ = 0;
  Address bits = 0;
  std::uint32_t highest = 0;
  for (const Address address : a) {
    differ |= address ^ a[0];
    bits |= address;
    highest = std::max(highest, static_cast<std::uint32_t>(address));
  }
  if (bits % kLaneBytes != 0 || differ >= kGranule) return false;
  Address first = a[0];
  const Space settled = settle_space(space, first);
  if (settled == Space::Shared) {
    highest -= static_cast<std::uint32_t>(a[0] - first);
    if (highest >= w.shared_bytes || kLaneBytes > w.shared_bytes - highest) return false;
  }
  // Neighbours in an aligned granule are there if one is.
  const std::byte* from = quick_range(w, settled, first, kLaneBytes, 1);
  if (from == nullptr) return false;
  const Ref* refs = V == 1 ? &op.dst : w.kernel->refs.data() + op.list;
  for (unsigned v = 0; v < V; ++v, from += sizeof(E)) {
    S* d = destination<S>(w, refs[v]);
    for (unsigned l = 0; l < kLanes; ++l)
      d[l] = widen<E, S>(from + static_cast<std::int64_t>(a[l] - a[0]));
  }
  return true;
}

/// Apart from the quick way, which then needs no stack.
template <typename E, typename S, unsigned V>
[[gnu::noinline]] void load_general(Warp& w, const Op& op) {
  const auto space = static_cast<Space>(op.aux & 7U);
  WeakMemory* const weak = is_weak_space(space) ? w.grid->weak : nullptr;
  if (weak != nullptr && weak->postpone_load(w, op)) return;
  LaneAddresses a;
  gather_addresses(w, op, a);
  const bool accounted = weak != nullptr && weak->before_load(w, op, a);
  const bool quick = weak == nullptr && w.active == kFullMask;
  if (!quick || !load_scattered<E, S, V>(w, op, a, space)) load_lanes<E, S, V>(w, op, a, space);
  if (w.trapped()) return;
  if (!accounted) account(w, op, AccessKind::Load, a, sizeof(E) * V);
  if (weak != nullptr) weak->after_load(w, op);
}

template <typename E, typename S, unsigned V>
void exec_load(Warp& w, const Op& op) {
  if (w.active == kFullMask && load_pattern<E, S, V>(w, op)) return;
  load_general<E, S, V>(w, op);
}

/// ld.shared with a 32-bit address: the inner loop of tiled kernels.
template <typename E, typename S, unsigned V>
void exec_load_shared(Warp& w, const Op& op) {
  constexpr std::uint32_t kLaneBytes = sizeof(E) * V;
  if (w.active == kFullMask) {
    const std::uint32_t* a = w.slots<std::uint32_t>(op.a);
    const Pattern pattern = known_pattern<std::uint32_t>(w, op, a, kLaneBytes);
    const std::uint32_t first = a[0] + static_cast<std::uint32_t>(op.imm);
    const bool row = pattern == Pattern::Consecutive;
    const std::uint32_t bytes = row ? kLaneBytes * kLanes : kLaneBytes;
    if (pattern != Pattern::Other && first % kLaneBytes == 0 && first < w.shared_bytes &&
        bytes <= w.shared_bytes - first) {
      if (w.observer != nullptr) {
        observe_row(w, {&op, first, kLaneBytes, AccessKind::Load, Space::Shared, !row});
      }
      w.shared_passes += row ? shared_row_passes(kLaneBytes) : 1;
      copy_in<E, S, V>(w, op, w.shared + first, row);
      return;
    }
  }
  load_general<E, S, V>(w, op);
}

}  // namespace

void exec_load_shared_b32(Warp& w, const Op& op) {
  exec_load_shared<std::uint32_t, std::uint32_t, 1>(w, op);
}

namespace {

/// FNV-like digest of what the lanes read: the spin detector compares visits.
template <typename S, unsigned V>
std::uint64_t digest_of(const Warp& w, const Op& op) {
  const Ref* refs = V == 1 ? &op.dst : w.kernel->refs.data() + op.list;
  std::uint64_t digest = 0xCBF2'9CE4'8422'2325ULL;
  const auto mix = [&](std::uint64_t value) {
    digest = (digest ^ value) * 0x9E37'79B9'7F4A'7C15ULL;
    digest ^= digest >> 29U;
  };
  for (unsigned v = 0; v < V; ++v) {
    const S* d = destination<S>(w, refs[v]);
    for_active(w.active, [&](unsigned l) {
      if constexpr (sizeof(S) == 16) {
        mix(d[l][0]);
        mix(d[l][1]);
      } else {
        mix(d[l]);
      }
    });
  }
  return digest;
}

/// volatile, relaxed, acquire, mmio: in the order of virtual time, and watched for spinning.
template <typename E, typename S, unsigned V>
void exec_strong_load(Warp& w, const Op& op) {
  w.sync_clock();
  if (w.clock > w.strict_limit) {
    yield_before(w, op);
    return;
  }
  const auto space = static_cast<Space>(op.aux & 7U);
  WeakMemory* const weak = is_weak_space(space) ? w.grid->weak : nullptr;
  if (weak != nullptr && weak->postpone_load(w, op)) return;
  LaneAddresses a;
  gather_addresses(w, op, a);
  const bool accounted = weak != nullptr && weak->before_load(w, op, a);
  load_lanes<E, S, V>(w, op, a, space);
  if (w.trapped()) return;
  if (!accounted) account(w, op, AccessKind::Load, a, sizeof(E) * V);
  if (static_cast<Order>(op.aux >> 3U & 7U) == Order::Acquire) wait_for_result(w, op);
  // What was seen is not what is there: nobody could wake it from waiting for a change.
  if (weak != nullptr && weak->after_load(w, op)) {
    const VTime arrival = weak->arrival(w, op);
    if (arrival != 0) return sleep_until(w, op, a, sizeof(E) * V, arrival);
    return note_progress(w);
  }
  note_strong_read(w, op, a, sizeof(E) * V, digest_of<S, V>(w, op));
}

template <typename E, typename S, unsigned V>
void store_to(Warp& w, const Ref* refs, unsigned l, std::byte* to) {
  for (unsigned v = 0; v < V; ++v) {
    narrow<E, S>(to + v * sizeof(E), destination<S>(w, refs[v])[l]);
  }
}

/// A plain store to a multicast address reaches every member.
template <typename E, typename S, unsigned V>
bool store_multicast(Warp& w, const Op& op, unsigned l, Address address, const Ref* refs) {
  const Multicast* cast = w.memory->find_multicast(address);
  if (cast == nullptr || (address & (sizeof(E) * V - 1)) != 0) return false;
  if (address - cast->base + sizeof(E) * V > cast->bytes) return false;
  for (const Address member : cast->members) {
    const Address target = member + (address - cast->base);
    std::byte* to = resolve(w, op, Space::Global, l, target, sizeof(E) * V);
    if (to == nullptr) return true;
    store_to<E, S, V>(w, refs, l, to);
    after_write(w, Space::Global, target, sizeof(E) * V);
  }
  return true;
}

template <typename E, typename S, unsigned V>
void store_lanes(Warp& w, const Op& op, const LaneAddresses& a, Space space) {
  const Ref* refs = V == 1 ? &op.b : w.kernel->refs.data() + op.list;
  for_active(w.active, [&](unsigned l) {
    if (w.trapped()) return;
    if ((a[l] >> 40U) >= (kMulticastBase >> 40U) && a[l] < kHostBase &&
        store_multicast<E, S, V>(w, op, l, a[l], refs)) {
      return;
    }
    std::byte* to = lane_memory(w, op, space, l, a[l], sizeof(E) * V);
    if (to == nullptr) return;
    store_to<E, S, V>(w, refs, l, to);
    after_write(w, space, a[l], sizeof(E) * V);
  });
}

template <typename E, typename S, unsigned V>
bool store_row(Warp& w, const Op& op) {
  constexpr std::uint32_t kLaneBytes = sizeof(E) * V;
  Address first = 0;
  if (find_pattern(w, op, kLaneBytes, first) != Pattern::Consecutive) return false;
  const Space space = settle_space(static_cast<Space>(op.aux & 7U), first);
  std::byte* to = quick_range(w, space, first, kLaneBytes * kLanes, kLaneBytes);
  if (to == nullptr) return false;
  if (w.observer != nullptr) {
    if (asks_weak_memory(w, space) || is_strong(static_cast<Order>(op.aux >> 3U & 7U)))
      return false;
    observe_row(w, {&op, first, kLaneBytes, AccessKind::Store, space, false});
  }
  if (space == Space::Global) {
    account_range(w, op, AccessKind::Store, first, kLaneBytes * kLanes);
  } else {
    w.shared_passes += shared_row_passes(kLaneBytes);
  }
  const Ref* refs = V == 1 ? &op.b : w.kernel->refs.data() + op.list;
  for (unsigned v = 0; v < V; ++v) {
    const S* s = destination<S>(w, refs[v]);
#pragma GCC ivdep
    for (unsigned l = 0; l < kLanes; ++l) {
      narrow<E, S>(to + l * kLaneBytes + v * sizeof(E), s[l]);
    }
  }
  after_write(w, space, first, kLaneBytes * kLanes);
  return true;
}

template <typename E, typename S, unsigned V>
[[gnu::noinline]] void store_general(Warp& w, const Op& op) {
  LaneAddresses a;
  gather_addresses(w, op, a);
  const auto space = static_cast<Space>(op.aux & 7U);
  WeakMemory* const weak = is_weak_space(space) ? w.grid->weak : nullptr;
  const Ref* refs = V == 1 ? &op.b : w.kernel->refs.data() + op.list;
  if (weak != nullptr && weak->before_store(w, op, a, {refs, V, sizeof(S), sizeof(E) * V})) return;
  account(w, op, AccessKind::Store, a, sizeof(E) * V);
  store_lanes<E, S, V>(w, op, a, space);
  if (weak != nullptr) weak->after_store(w, op);
}

template <typename E, typename S, unsigned V>
void exec_store(Warp& w, const Op& op) {
  if (w.active == kFullMask && store_row<E, S, V>(w, op)) return;
  store_general<E, S, V>(w, op);
}

template <typename E, typename S, unsigned V>
void exec_strong_store(Warp& w, const Op& op) {
  w.sync_clock();
  if (w.clock > w.strict_limit) {
    yield_before(w, op);
    return;
  }
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  if (is_weak_space(aux.space)) release_stores(w, aux);
  exec_store<E, S, V>(w, op);
}

/// ld.param of a kernel's argument at a fixed place: one value for all lanes.
template <typename E, typename S>
void exec_load_parameter(Warp& w, const Op& op) {
  const S value = widen<E, S>(Memory::at(w.grid->parameters + op.imm));
  detail::store_lanes<S>(destination<S>(w, op.dst), w.active, [&](unsigned) { return value; });
}

enum class Access : std::uint8_t { Load, SharedLoad, StrongLoad, Store, StrongStore, Parameter };

template <typename E, typename S, unsigned V>
Handler pick_access(Access access) {
  switch (access) {
    case Access::Load:
      return exec_load<E, S, V>;
    case Access::SharedLoad:
      if constexpr (V == 1 && std::is_same_v<E, std::uint32_t> && sizeof(S) == 4) {
        return exec_load_shared_b32;  // By that name exec_fused.cc knows it.
      }
      return exec_load_shared<E, S, V>;
    case Access::StrongLoad:
      return exec_strong_load<E, S, V>;
    case Access::Store:
      return exec_store<E, S, V>;
    case Access::StrongStore:
      return exec_strong_store<E, S, V>;
    case Access::Parameter:
      if constexpr (V == 1 && sizeof(S) <= 8) return exec_load_parameter<E, S>;
  }
  return nullptr;
}

template <typename E, typename S>
Handler pick_vector(Access access, unsigned vector) {
  switch (vector) {
    case 1:
      return pick_access<E, S, 1>(access);
    case 2:
      return pick_access<E, S, 2>(access);
    case 4:
      return pick_access<E, S, 4>(access);
    case 8:
      if constexpr (sizeof(E) == 4) return pick_access<E, S, 8>(access);
      return nullptr;
    default:
      return nullptr;
  }
}

template <typename E>
Handler pick_slot(Access access, unsigned vector, std::uint32_t slot) {
  if (slot == 4) {
    if constexpr (sizeof(E) <= 4) return pick_vector<E, std::uint32_t>(access, vector);
  }
  if (slot == 8) {
    if constexpr (sizeof(E) <= 8) return pick_vector<E, std::uint64_t>(access, vector);
  }
  return nullptr;
}

Handler pick_handler(Access access, ptx::Type type, unsigned vector, std::uint32_t slot) {
  const bool is_signed = type == ptx::Type::S8 || type == ptx::Type::S16 || type == ptx::Type::S32;
  switch (ptx::size_of(type)) {
    case 1:
      return is_signed ? pick_slot<std::int8_t>(access, vector, slot)
                       : pick_slot<std::uint8_t>(access, vector, slot);
    case 2:
      return is_signed ? pick_slot<std::int16_t>(access, vector, slot)
                       : pick_slot<std::uint16_t>(access, vector, slot);
    case 4:
      return is_signed ? pick_slot<std::int32_t>(access, vector, slot)
                       : pick_slot<std::uint32_t>(access, vector, slot);
    case 8:
      return pick_slot<std::uint64_t>(access, vector, slot);
    case 16: {
      using Wide = std::array<std::uint64_t, 2>;
      if (slot != 16 || vector > 2) return nullptr;
      return vector == 1 ? pick_access<Wide, Wide, 1>(access) : pick_access<Wide, Wide, 2>(access);
    }
    default:
      return nullptr;
  }
}

CostClass cost_of(const MemoryAux& aux) {
  if (aux.user == kInRegisters) return CostClass::Move;
  switch (aux.space) {
    case Space::Shared:
      return CostClass::Shared;
    case Space::Param:
    case Space::Const:
      return CostClass::Move;
    default:
      return CostClass::Memory;
  }
}

/// The registers of a data operand, plain or {vector}; their common slot width.
std::uint32_t data_refs(Lowering& lowering,
                        const ptx::Operand& operand,
                        ptx::Type type,
                        bool store,
                        std::vector<Ref>& refs) {
  const bool is_vector = operand.kind == ptx::Operand::Kind::Vector;
  const std::size_t count = is_vector ? operand.elements.size() : 1;
  std::uint32_t slot = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const ptx::Operand& element = is_vector ? operand.elements[i] : operand;
    slot = std::max(slot, lowering.slot_bytes(element));
  }
  if (slot == 0) slot = Lowering::slot_bytes(type);
  for (std::size_t i = 0; i < count; ++i) {
    const ptx::Operand& element = is_vector ? operand.elements[i] : operand;
    const ptx::Type as = slot == 4 ? ptx::Type::B32 : slot == 8 ? ptx::Type::B64 : ptx::Type::B128;
    // A float immediate must be converted as what it is.
    const bool immediate = element.kind == ptx::Operand::Kind::Float;
    refs.push_back(store ? lowering.source(element, immediate ? type : as)
                         : lowering.destination(element, as));
  }
  return slot;
}

bool lower_load(Lowering& lowering, const ptx::Instruction& instruction, ptx::Type type) {
  std::vector<Ref> refs;
  const std::uint32_t slot = data_refs(lowering, instruction.operands[0], type, false, refs);
  MemoryOperand memory = lowering.memory_operand(instruction.operands[1], type);
  if (refs.size() != memory.aux.vector) return false;
  Access access = is_strong(memory.aux.order) ? Access::StrongLoad : Access::Load;
  if (access == Access::Load && memory.aux.space == Space::Shared && memory.aux.narrow) {
    access = Access::SharedLoad;
  }
  const bool fixed = instruction.operands[1].elements[0].kind != ptx::Operand::Kind::Register;
  if (memory.aux.space == Space::Param && fixed && refs.size() == 1) {
    const Kernel& kernel = lowering.builder().kernel();
    std::uint64_t base = 0;
    std::memcpy(&base, kernel.constants.data() + (memory.base & ~kConstantBit), sizeof base);
    memory.offset += base;
    const std::uint32_t bytes = ptx::size_of(type);
    if (memory.offset + bytes > kernel.info.argument_bytes || memory.offset % bytes != 0) {
      lowering.fail("parameter out of range");
    }
    access = Access::Parameter;
  }
  const Handler handler = pick_handler(access, type, memory.aux.vector, slot);
  if (handler == nullptr) return false;
  const std::uint32_t list = refs.size() > 1 ? lowering.list(refs) : 0;
  Op& op = lowering.emit(handler, cost_of(memory.aux));
  memory.apply(op);
  op.dst = refs[0];
  op.list = list;
  return true;
}

bool lower_store(Lowering& lowering, const ptx::Instruction& instruction, ptx::Type type) {
  std::vector<Ref> refs;
  const std::uint32_t slot = data_refs(lowering, instruction.operands[1], type, true, refs);
  const MemoryOperand memory = lowering.memory_operand(instruction.operands[0], type);
  if (refs.size() != memory.aux.vector) return false;
  const Access access = is_strong(memory.aux.order) ? Access::StrongStore : Access::Store;
  const Handler handler = pick_handler(access, type, memory.aux.vector, slot);
  if (handler == nullptr) return false;
  const std::uint32_t list = refs.size() > 1 ? lowering.list(refs) : 0;
  Op& op = lowering.emit(handler, cost_of(memory.aux));
  memory.apply(op);
  op.b = refs[0];
  op.list = list;
  return true;
}

}  // namespace

bool lower_memory(Lowering& lowering, const ptx::Instruction& instruction) {
  if (instruction.operands.size() < 2 || instruction.types.empty()) return false;
  if (instruction.has(ptx::Modifier::Async)) return false;  // Of clusters, which there are none of.
  const ptx::Type type = instruction.types[0];
  return instruction.opcode == ptx::Opcode::St ? lower_store(lowering, instruction, type)
                                               : lower_load(lowering, instruction, type);
}

}  // namespace cuco::vgpu
