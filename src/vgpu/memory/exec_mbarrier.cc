// SPDX-License-Identifier: Apache-2.0
// mbarrier (PTX ISA 9.7.13.15) and the arrivals of cp.async.
//
// The object is opaque to programs, 8 bytes of shared memory: pending arrivals, the arrivals that
// the next phase expects, the bytes under way and the parity of the phase. A wait that fails has
// read a value that did not change, so waiting in a loop costs nothing.
#include <algorithm>
#include <array>
#include <cstring>

#include "vgpu/exec/exec.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/memory/access.h"
#include "vgpu/memory/bulk.h"
#include "vgpu/memory/mbarrier.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Space;
using ptx::Type;

constexpr std::uint32_t kObjectBytes = Mbarrier::kBytes;

std::uint64_t load_object(const std::byte* at) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}

/// Applies `change` to the objects of the active lanes, one after the other; `change` gets the lane
/// and returns the new bits.
template <typename F>
void for_objects(Warp& w, const Op& op, F&& change) {
  w.sync_clock();
  if (w.clock > w.strict_limit) {
    yield_before(w, op);
    return;
  }
  const Space space = MemoryAux::unpack(op.aux).space;
  LaneAddresses addresses;
  gather_addresses(w, op, addresses);
  account(w, op, AccessKind::Atomic, addresses, kObjectBytes);
  for_active(w.active, [&](unsigned l) {
    if (w.trapped()) return;
    std::byte* at = resolve(w, op, space, l, addresses[l], kObjectBytes);
    if (at == nullptr) return;
    const std::uint64_t bits = change(l, load_object(at));
    std::memcpy(at, &bits, sizeof bits);
    after_write(w, space, addresses[l], kObjectBytes);
  });
  if (!w.trapped()) note_progress(w);
}

void exec_init(Warp& w, const Op& op) {
  const std::uint32_t* counts = w.slots<std::uint32_t>(op.b);
  for_objects(w, op, [&](unsigned l, std::uint64_t) {
    return Mbarrier{.pending = counts[l], .expected = counts[l]}.pack();
  });
}

void exec_inval(Warp& w, const Op& op) {
  for_objects(w, op, [](unsigned, std::uint64_t) { return std::uint64_t{0}; });
}

/// What arrives: `count` threads, of which `drop` never come again, and the news of `bytes`.
enum class Arrival { Threads, Dropped, AndExpectBytes, ExpectBytes, CompleteBytes };

template <Arrival What>
void exec_arrive(Warp& w, const Op& op) {
  const std::uint32_t* numbers = w.slots<std::uint32_t>(op.b);
  for_objects(w, op, [&](unsigned l, std::uint64_t bits) {
    Mbarrier object = Mbarrier::unpack(bits);
    const std::uint32_t number = numbers[l];
    const auto bytes = static_cast<std::int32_t>(number);
    if constexpr (What == Arrival::Dropped) object.expected -= std::min(object.expected, number);
    if constexpr (What == Arrival::AndExpectBytes || What == Arrival::ExpectBytes) {
      object.bytes_under_way += bytes;
    }
    if constexpr (What == Arrival::CompleteBytes) object.bytes_under_way -= bytes;
    if constexpr (What == Arrival::Threads || What == Arrival::Dropped) object.arrive(number);
    if constexpr (What == Arrival::AndExpectBytes) object.arrive(1);
    if constexpr (What != Arrival::ExpectBytes) object.settle();
    w.slots<std::uint64_t>(op.dst)[l] = bits;  // the state before it
    return object.pack();
  });
}

template <bool ByParity>
void exec_wait(Warp& w, const Op& op) {
  w.sync_clock();
  if (w.clock > w.strict_limit) {
    yield_before(w, op);
    return;
  }
  deliver_bulk(*w.block, w.clock);
  const Space space = MemoryAux::unpack(op.aux).space;
  LaneAddresses addresses;
  gather_addresses(w, op, addresses);
  account(w, op, AccessKind::Load, addresses, kObjectBytes);
  std::uint32_t done = 0;
  std::uint64_t digest = 0;
  for_active(w.active, [&](unsigned l) {
    if (w.trapped()) return;
    const std::byte* at = resolve(w, op, space, l, addresses[l], kObjectBytes);
    if (at == nullptr) return;
    const std::uint64_t bits = load_object(at);
    digest = (digest ^ bits) * 0x9E37'79B9'7F4A'7C15ULL;
    const bool waited_for = ByParity ? (w.slots<std::uint32_t>(op.b)[l] & 1U) != 0
                                     : Mbarrier::unpack(w.slots<std::uint64_t>(op.b)[l]).parity;
    const bool is_over = Mbarrier::unpack(bits).parity != waited_for;
    if (is_over && w.observer != nullptr) see_bulk(w, addresses[l], waited_for);
    done |= (is_over ? 1U : 0U) << l;
  });
  if (w.trapped()) return;
  w.set_predicate(op.dst, done);
  if (done == 0) {
    note_strong_read(w, op, addresses, kObjectBytes, digest);
  } else {
    note_progress(w);
  }
}

void exec_pending_count(Warp& w, const Op& op) {
  const std::uint64_t* states = w.slots<std::uint64_t>(op.a);
  std::uint32_t* out = w.slots<std::uint32_t>(op.dst);
  for_active(w.active, [&](unsigned l) { out[l] = Mbarrier::unpack(states[l]).pending; });
}

/// Strong in the block, as all of mbarrier is unless more is said.
MemoryOperand object_operand(Lowering& lowering, const ptx::Operand& operand, Order order) {
  MemoryOperand memory = lowering.memory_operand(operand, Type::B64);
  if (memory.aux.order == Order::Weak) {
    memory.aux.order = order;
    memory.aux.scope = Scope::Cta;
  }
  memory.aux.bytes = kObjectBytes;
  return memory;
}

bool lower_arrival(Lowering& lowering, const ptx::Instruction& in) {
  const auto& operands = in.operands;
  const bool only_bytes = !in.has(Modifier::Arrive) && !in.has(Modifier::ArriveDrop);
  const std::size_t at = only_bytes ? 0 : 1;  // arrive gives a state first
  if (operands.size() <= at) return false;
  const bool expects = in.has(Modifier::ExpectTx);
  if ((only_bytes || expects) && operands.size() <= at + 1) return false;
  const MemoryOperand memory = object_operand(lowering, operands[at], Order::AcqRel);
  const Ref number = operands.size() > at + 1 ? lowering.source(operands[at + 1], Type::B32)
                                              : lowering.constant32(1);
  const Ref state =
      only_bytes ? lowering.temporary(8) : lowering.destination(operands[0], Type::B64);
  Handler handler = exec_arrive<Arrival::Threads>;
  if (in.has(Modifier::ArriveDrop)) {
    if (expects) return false;
    handler = exec_arrive<Arrival::Dropped>;
  } else if (expects) {
    handler = only_bytes ? exec_arrive<Arrival::ExpectBytes> : exec_arrive<Arrival::AndExpectBytes>;
  } else if (only_bytes) {
    handler = exec_arrive<Arrival::CompleteBytes>;
  }
  Op& op = lowering.emit(handler, CostClass::Shared);
  memory.apply(op);
  op.b = number;
  op.dst = state;
  return true;
}

bool lower_wait(Lowering& lowering, const ptx::Instruction& in) {
  const auto& operands = in.operands;
  if (operands.size() < 3) return false;
  const bool by_parity = in.has(Modifier::Parity);
  const MemoryOperand memory = object_operand(lowering, operands[1], Order::Acquire);
  const Ref state = lowering.source(operands[2], by_parity ? Type::B32 : Type::B64);
  const Ref done = lowering.predicate_destination(operands[0]);
  Op& op = lowering.emit(by_parity ? exec_wait<true> : exec_wait<false>, CostClass::Shared);
  memory.apply(op);
  op.b = state;
  op.dst = done;
  return true;
}

}  // namespace

void arrive_once(Warp& w, const Op& op, bool counts) {
  for_objects(w, op, [&](unsigned, std::uint64_t bits) {
    Mbarrier object = Mbarrier::unpack(bits);
    if (counts) object.arrive(1);
    object.settle();
    return object.pack();
  });
}

bool lower_mbarrier(Lowering& lowering, const ptx::Instruction& in) {
  const auto& operands = in.operands;
  if (in.has(Modifier::Init) || in.has(Modifier::Inval)) {
    const bool init = in.has(Modifier::Init);
    if (operands.size() < (init ? 2U : 1U)) return false;
    const MemoryOperand memory = object_operand(lowering, operands[0], Order::Relaxed);
    const Ref count = init ? lowering.source(operands[1], Type::B32) : kScratch;
    Op& op = lowering.emit(init ? exec_init : exec_inval, CostClass::Shared);
    memory.apply(op);
    op.b = count;
    return true;
  }
  if (in.has(Modifier::TestWait) || in.has(Modifier::TryWait)) return lower_wait(lowering, in);
  if (in.has(Modifier::PendingCount)) {
    if (operands.size() < 2) return false;
    const Ref state = lowering.source(operands[1], Type::B64);
    const Ref dst = lowering.destination(operands[0], Type::B32);
    Op& op = lowering.emit(exec_pending_count, CostClass::Integer);
    op.a = state;
    op.dst = dst;
    return true;
  }
  return lower_arrival(lowering, in);
}

}  // namespace cuco::vgpu
