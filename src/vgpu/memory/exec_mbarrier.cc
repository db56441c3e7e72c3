// SPDX-License-Identifier: Apache-2.0
// mbarrier (PTX ISA 9.7.13.15), the arrivals of cp.async, and bulk copies of one dimension.
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
#include "vgpu/memory/mbarrier.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Space;
using ptx::Type;

constexpr std::uint32_t kObjectBytes = 8;

struct Mbarrier {
  std::uint32_t pending = 0;
  std::uint32_t expected = 0;
  std::int32_t bytes_under_way = 0;
  bool parity = false;

  static constexpr unsigned kCountBits = 20;
  static constexpr std::uint64_t kCountMask = (1U << kCountBits) - 1;

  static Mbarrier unpack(std::uint64_t bits) {
    Mbarrier out;
    out.pending = static_cast<std::uint32_t>(bits & kCountMask);
    out.expected = static_cast<std::uint32_t>(bits >> kCountBits & kCountMask);
    // 23 bits with sign: bytes may arrive before they are announced.
    out.bytes_under_way =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(bits >> 40U) << 9U) >> 9;
    out.parity = bits >> 63U != 0;
    return out;
  }
  [[nodiscard]] std::uint64_t pack() const {
    return (pending & kCountMask) | (expected & kCountMask) << kCountBits |
           (static_cast<std::uint64_t>(static_cast<std::uint32_t>(bytes_under_way)) & 0x7F'FFFFU)
               << 40U |
           std::uint64_t{parity} << 63U;
  }
  void arrive(std::uint32_t count) { pending -= std::min(pending, count); }
  /// Ends the phase if nothing is missing.
  void settle() {
    if (pending != 0 || bytes_under_way != 0) return;
    parity = !parity;
    pending = expected;
  }
};

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
    done |= (Mbarrier::unpack(bits).parity != waited_for ? 1U : 0U) << l;
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

// ---- bulk copies

/// The addresses of one side: register and offset.
struct Side {
  Ref base = kScratch;
  std::uint64_t offset = 0;
  bool narrow = false;
  Space space = Space::Shared;

  [[nodiscard]] Address of(Warp& w, unsigned lane) const {
    if (narrow) {
      return w.slots<std::uint32_t>(base)[lane] + static_cast<std::uint32_t>(offset);
    }
    const Address address = w.slots<std::uint64_t>(base)[lane] + offset;
    return space == Space::Shared && is_shared(address) ? address - kSharedWindow : address;
  }
};

enum BulkRef : unsigned { kSharedBase, kSharedOffset, kObjectBase, kObjectOffset, kBulkRefs };
enum BulkBit : std::uint8_t { SharedNarrow = 1, ObjectNarrow = 2 };

Side side_of(Warp& w, const Op& op, unsigned first, bool narrow) {
  const Ref* refs = w.kernel->refs.data() + op.list;
  return {refs[first], w.slots<std::uint32_t>(refs[first + 1])[0], narrow, Space::Shared};
}

/// Tells the observer of one lane's access to shared memory by a copy.
void report_shared(
    Warp& w, const Op& op, unsigned lane, Address address, AccessKind kind, std::uint32_t bytes) {
  if (w.observer == nullptr) return;
  const std::uint32_t active = w.active;
  Op access = op;
  MemoryAux aux;
  aux.space = Space::Shared;
  if (kind == AccessKind::Atomic) {
    aux.order = Order::AcqRel;
    aux.scope = Scope::Cta;
  }
  access.aux = aux.pack();
  access.set_slots = 0;
  LaneAddresses addresses{};
  addresses[lane] = address;
  w.active = 1U << lane;
  account(w, access, kind, addresses, bytes);
  w.active = active;
}

/// One lane's copy: 16 bytes at a time, as both addresses are aligned to. False: trapped.
template <bool ToShared>
bool copy_bulk(Warp& w, const Op& op, unsigned l, Address global, Address shared) {
  const std::uint32_t bytes = w.slots<std::uint32_t>(op.c)[l];
  constexpr std::uint32_t kPart = 16;
  for (std::uint32_t done = 0; done < bytes; done += kPart) {
    std::byte* outside = resolve(w, op, Space::Global, l, global + done, kPart);
    if (outside == nullptr) return false;
    std::byte* inside = resolve(w, op, Space::Shared, l, shared + done, kPart);
    if (inside == nullptr) return false;
    std::memcpy(ToShared ? inside : outside, ToShared ? outside : inside, kPart);
    report_shared(w, op, l, shared + done, ToShared ? AccessKind::Store : AccessKind::Load, kPart);
  }
  if (bytes == 0) return true;
  account_range(w, op, ToShared ? AccessKind::Load : AccessKind::Store, global, bytes);
  after_write(w, ToShared ? Space::Shared : Space::Global, ToShared ? shared : global, bytes);
  return true;
}

/// Takes effect at once: whoever does not wait for it is not found out.
template <bool ToShared>
void exec_bulk_copy(Warp& w, const Op& op) {
  w.sync_clock();
  if (w.clock > w.strict_limit) {
    yield_before(w, op);
    return;
  }
  const std::uint8_t user = MemoryAux::unpack(op.aux).user;
  const Side shared = side_of(w, op, kSharedBase, (user & SharedNarrow) != 0);
  const Side object = side_of(w, op, kObjectBase, (user & ObjectNarrow) != 0);
  LaneAddresses outside;
  gather_addresses(w, op, outside);
  for_active(w.active, [&](unsigned l) {
    if (w.trapped() || !copy_bulk<ToShared>(w, op, l, outside[l], shared.of(w, l))) return;
    if constexpr (ToShared) {
      const Address address = object.of(w, l);
      std::byte* at = resolve(w, op, Space::Shared, l, address, kObjectBytes);
      if (at == nullptr) return;
      report_shared(w, op, l, address, AccessKind::Atomic, kObjectBytes);
      Mbarrier state = Mbarrier::unpack(load_object(at));
      state.bytes_under_way -= static_cast<std::int32_t>(w.slots<std::uint32_t>(op.c)[l]);
      state.settle();
      const std::uint64_t bits = state.pack();
      std::memcpy(at, &bits, sizeof bits);
      after_write(w, Space::Shared, address, kObjectBytes);
    }
  });
  if (!w.trapped()) note_progress(w);
}

void exec_nothing(Warp&, const Op&) {}

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

bool lower_bulk(Lowering& lowering, const ptx::Instruction& in) {
  if (in.has(Modifier::Tensor) || in.has(Modifier::MulticastCluster)) return false;
  if (in.has(Modifier::CommitGroup) || in.has(Modifier::WaitGroup)) {
    lowering.emit(exec_nothing, CostClass::Control);
    return true;
  }
  const auto& operands = in.operands;
  const bool to_shared = in.has(Modifier::MbarrierCompleteTxBytes) && in.has(Modifier::Global);
  const bool to_global = in.has(Modifier::BulkGroup) && in.has(Modifier::Global);
  if ((!to_shared && !to_global) || operands.size() < (to_shared ? 4U : 3U)) return false;
  const MemoryOperand inside = lowering.memory_operand(operands[to_shared ? 0 : 1], Type::B128);
  MemoryOperand outside = lowering.memory_operand(operands[to_shared ? 1 : 0], Type::B128);
  const MemoryOperand object =
      to_shared ? lowering.memory_operand(operands[3], Type::B64) : MemoryOperand{};
  outside.aux.space = Space::Global;
  outside.aux.bytes = 16;
  outside.aux.user = static_cast<std::uint8_t>((inside.aux.narrow ? SharedNarrow : 0) |
                                               (object.aux.narrow ? ObjectNarrow : 0));
  std::array<Ref, kBulkRefs> refs{};
  refs[kSharedBase] = inside.base;
  refs[kSharedOffset] = lowering.constant32(static_cast<std::uint32_t>(inside.offset));
  refs[kObjectBase] = object.base;
  refs[kObjectOffset] = lowering.constant32(static_cast<std::uint32_t>(object.offset));
  const Ref bytes = lowering.source(operands[2], Type::B32);
  const std::uint32_t list = lowering.list(refs);
  Op& op =
      lowering.emit(to_shared ? exec_bulk_copy<true> : exec_bulk_copy<false>, CostClass::Memory);
  outside.apply(op);
  op.c = bytes;
  op.list = list;
  return true;
}

}  // namespace cuco::vgpu
