// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk and cp.reduce.async.bulk of one dimension (PTX ISA 9.7.9.25.4), their groups, and
// the arrival of their copies.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/memory/access.h"
#include "vgpu/memory/bulk.h"
#include "vgpu/memory/mbarrier.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Space;
using ptx::Type;

constexpr std::uint32_t kPart = 16;       ///< Addresses and sizes are multiples of it.
constexpr std::uint32_t kReadBytes = 64;  ///< Of shared memory, in a cycle.
constexpr std::uint64_t kUncommitted = std::numeric_limits<std::uint64_t>::max();

/// The addresses of one side in shared memory: register and offset.
struct Side {
  Ref base = kScratch;
  std::uint64_t offset = 0;
  bool narrow = false;

  [[nodiscard]] Address of(const Warp& w, unsigned lane) const {
    if (narrow) {
      return w.slots<std::uint32_t>(base)[lane] + static_cast<std::uint32_t>(offset);
    }
    const Address address = w.slots<std::uint64_t>(base)[lane] + offset;
    return is_shared(address) ? address - kSharedWindow : address;
  }
};

enum BulkRef : unsigned { kSharedBase, kSharedOffset, kObjectBase, kObjectOffset, kBulkRefs };
enum BulkBit : std::uint8_t { SharedNarrow = 1, ObjectNarrow = 2 };

Side side_of(const Warp& w, const Op& op, unsigned first, bool narrow) {
  const Ref* refs = w.kernel->refs.data() + op.list;
  return {refs[first], w.slots<std::uint32_t>(refs[first + 1])[0], narrow};
}

/// Tells the observer of an access by the copy, as one of the lane that began it.
void report(const BulkCopy& copy, Space space, AccessKind kind, Address at, std::uint32_t bytes) {
  Warp& w = *copy.warp;
  if (w.observer == nullptr) return;
  Op access = *copy.op;
  MemoryAux aux;
  aux.space = space;
  if (kind == AccessKind::Atomic && space == Space::Shared) {
    aux.order = Order::AcqRel;  // the mbarrier's
    aux.scope = Scope::Cta;
  } else if (kind == AccessKind::Atomic) {
    // Each element is reduced by an operation of its own (PTX ISA: .relaxed.gpu).
    aux.order = Order::Relaxed;
    aux.scope = Scope::Gpu;
    aux.bytes = copy.element;
    aux.vector = static_cast<std::uint8_t>(bytes / copy.element);
  }
  access.aux = aux.pack();
  LaneAddresses addresses{};
  addresses[copy.lane] = at;
  const std::uint32_t active = std::exchange(w.active, 1U << copy.lane);
  observe(w, access, kind, addresses, bytes, &copy);
  w.active = active;
}

/// Are both sides there? The trap names the instruction that begins the copy.
bool check(Warp& w, const BulkCopy& copy) {
  for (std::uint32_t at = 0; at < copy.bytes; at += kPart) {
    if (resolve(w, *copy.op, Space::Global, copy.lane, copy.global + at, kPart) == nullptr ||
        resolve(w, *copy.op, Space::Shared, copy.lane, copy.shared + at, kPart) == nullptr) {
      return false;
    }
  }
  return !copy.to_shared ||
         resolve(w, *copy.op, Space::Shared, copy.lane, copy.object, Mbarrier::kBytes) != nullptr;
}

/// The object learns that bytes have come.
void complete_bytes(Block& block, BulkCopy& copy) {
  report(copy, Space::Shared, AccessKind::Atomic, copy.object, Mbarrier::kBytes);
  std::byte* at = block.shared.data() + copy.object;
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  Mbarrier state = Mbarrier::unpack(bits);
  copy.parity = state.parity;
  state.bytes_under_way -= static_cast<std::int32_t>(copy.bytes);
  state.settle();
  bits = state.pack();
  std::memcpy(at, &bits, sizeof bits);
  notify_shared(block, static_cast<std::uint32_t>(copy.object), Mbarrier::kBytes, copy.done);
}

/// Moves the bytes. Memory that was freed meanwhile is left alone.
void perform(Block& block, BulkCopy& copy) {
  if (std::exchange(copy.performed, true)) return;
  Warp& w = *copy.warp;
  note_progress(w);
  if (copy.bytes != 0 && w.memory->valid(copy.global, copy.bytes)) {
    const AccessKind outer = copy.to_shared           ? AccessKind::Load
                             : copy.reduce != nullptr ? AccessKind::Atomic
                                                      : AccessKind::Store;
    for (std::uint32_t at = 0; at < copy.bytes; at += kPart) {
      report(copy, Space::Global, outer, copy.global + at, kPart);
      report(copy, Space::Shared, copy.to_shared ? AccessKind::Store : AccessKind::Load,
             copy.shared + at, kPart);
    }
    std::byte* outside = Memory::at(copy.global);
    std::byte* inside = block.shared.data() + copy.shared;
    if (copy.reduce == nullptr) {
      std::memcpy(copy.to_shared ? inside : outside, copy.to_shared ? outside : inside, copy.bytes);
    } else {
      for (std::uint32_t at = 0; at < copy.bytes; at += copy.element)
        copy.reduce(outside + at, inside + at);
    }
    if (copy.to_shared) {
      notify_shared(block, static_cast<std::uint32_t>(copy.shared), copy.bytes, copy.done);
    } else {
      w.memory->notify_kernel_write(copy.global, copy.bytes, copy.done);
    }
  }
  if (copy.to_shared) complete_bytes(block, copy);
  if (w.observer != nullptr) block.unseen_copies.push_back(copy);
}

/// What one of them reduces with, by the place that the op has it in.
struct Element {
  Reduction reduce = nullptr;
  std::uint8_t bytes = 0;
  bool is_float = false;
};

bool is_float(Type type) {
  return type == Type::F16 || type == Type::Bf16 || type == Type::F32 || type == Type::F64;
}

Element element_of(const Warp& w, const Op& op) {
  const ptx::Instruction* in = w.kernel->origins[op.source].instruction;
  if (!in->has(Modifier::Reduce)) return {};
  const Type type = in->types.back();
  return {reduction_of(*in), static_cast<std::uint8_t>(ptx::size_of(type)), is_float(type)};
}

template <bool ToShared>
void exec_copy(Warp& w, const Op& op) {
  w.sync_clock();
  if (w.clock > w.strict_limit) {
    yield_before(w, op);
    return;
  }
  const std::uint8_t user = MemoryAux::unpack(op.aux).user;
  const Side shared = side_of(w, op, kSharedBase, (user & SharedNarrow) != 0);
  const Side object = side_of(w, op, kObjectBase, (user & ObjectNarrow) != 0);
  const Element element = ToShared ? Element{} : element_of(w, op);
  LaneAddresses outside;
  gather_addresses(w, op, outside);
  for_active(w.active, [&](unsigned l) {
    if (w.trapped()) return;
    BulkCopy copy{.number = ++w.block->copies_begun,
                  .op = &op,
                  .warp = &w,
                  .global = outside[l],
                  .shared = shared.of(w, l),
                  .object = ToShared ? object.of(w, l) : 0,
                  .bytes = w.slots<std::uint32_t>(op.c)[l],
                  .lane = static_cast<std::uint8_t>(l),
                  .to_shared = ToShared,
                  .group = kUncommitted,
                  .reduce = element.reduce,
                  .element = element.bytes};
    if (!check(w, copy)) return;
    copy.done = w.clock;
    if (copy.bytes != 0) {
      copy.done = bulk_time(w, op, ToShared ? AccessKind::Load : AccessKind::Store, copy.global,
                            copy.bytes);
      if (copy.reduce != nullptr) {
        copy.done =
            std::max(copy.done, bulk_reduce_time(w, copy.global, copy.bytes, element.is_float));
      }
    }
    copy.read = std::min(copy.done, w.clock + copy.bytes / kReadBytes * w.sm->timing->cycle);
    if (!ToShared) w.block->stored = std::max(w.block->stored, copy.done);
    w.block->copies.push_back(copy);
    if (w.observer != nullptr) w.observer->on_bulk_begin(w, copy);
    w.grid->scheduler->deliver_at(*w.block, copy.done);
  });
  if (!w.trapped()) note_progress(w);
}

void exec_commit(Warp& w, const Op& /*op*/) {
  for (auto* copies : {&w.block->copies, &w.block->unseen_copies}) {
    for (BulkCopy& copy : *copies) {
      if (copy.warp != &w || copy.group != kUncommitted || (w.active >> copy.lane & 1U) == 0)
        continue;
      copy.group = w.bulk_groups[copy.lane];
    }
  }
  w.uses_async = true;
  for_active(w.active, [&](unsigned l) { ++w.bulk_groups[l]; });
}

/// All but the latest imm groups of a lane have to be there, or, of .read, to have left.
template <bool Read>
void exec_wait_group(Warp& w, const Op& op) {
  w.sync_clock();
  VTime until = w.clock;
  const auto is_awaited = [&](const BulkCopy& copy) {
    return copy.warp == &w && !copy.to_shared && (w.active >> copy.lane & 1U) != 0 &&
           copy.group != kUncommitted && copy.group + op.imm < w.bulk_groups[copy.lane];
  };
  for (BulkCopy& copy : w.block->copies) {
    if (!is_awaited(copy)) continue;
    perform(*w.block, copy);
    until = std::max(until, Read ? copy.read : copy.done);
  }
  w.grid->counters.waiting += until - w.clock;
  w.clock = until;
  deliver_bulk(*w.block, w.clock);
  std::erase_if(w.block->unseen_copies, [&](const BulkCopy& copy) {
    if (!is_awaited(copy)) return false;
    w.observer->on_bulk_seen(w, copy, !Read);
    return !Read;
  });
}

}  // namespace

void see_bulk(Warp& w, Address object, bool parity) {
  if (is_shared(object)) object -= kSharedWindow;
  std::erase_if(w.block->unseen_copies, [&](const BulkCopy& copy) {
    if (!copy.to_shared || copy.object != object || copy.parity != parity) return false;
    w.observer->on_bulk_seen(w, copy, true);
    return true;
  });
}

void deliver_bulk(Block& block, VTime now) {
  if (block.copies.empty()) return;
  std::vector<BulkCopy> due;
  std::erase_if(block.copies, [&](const BulkCopy& copy) {
    if (copy.done > now) return false;
    due.push_back(copy);
    return true;
  });
  std::ranges::stable_sort(due, {}, &BulkCopy::done);
  for (BulkCopy& copy : due)
    perform(block, copy);
}

bool lower_bulk(Lowering& lowering, const ptx::Instruction& in) {
  if (in.has(Modifier::Tensor) || in.has(Modifier::MulticastCluster)) return false;
  if (in.has(Modifier::CommitGroup)) {
    lowering.emit(exec_commit, CostClass::Control);
    return true;
  }
  if (in.has(Modifier::WaitGroup)) {
    if (in.operands.size() != 1 || in.operands[0].kind != ptx::Operand::Kind::Integer) return false;
    lowering
        .emit(in.has(Modifier::Read) ? exec_wait_group<true> : exec_wait_group<false>,
              CostClass::Control)
        .imm = static_cast<std::uint64_t>(in.operands[0].value);
    return true;
  }
  const auto& operands = in.operands;
  const bool to_shared = in.has(Modifier::MbarrierCompleteTxBytes) && in.has(Modifier::Global);
  const bool to_global = in.has(Modifier::BulkGroup) && in.has(Modifier::Global);
  if ((!to_shared && !to_global) || operands.size() < (to_shared ? 4U : 3U)) return false;
  if (in.has(Modifier::Reduce) && (to_shared || reduction_of(in) == nullptr)) return false;
  const MemoryOperand inside = lowering.memory_operand(operands[to_shared ? 0 : 1], Type::B128);
  MemoryOperand outside = lowering.memory_operand(operands[to_shared ? 1 : 0], Type::B128);
  const MemoryOperand object =
      to_shared ? lowering.memory_operand(operands[3], Type::B64) : MemoryOperand{};
  outside.aux.space = Space::Global;
  outside.aux.bytes = 16;
  outside.aux.no_l1 = true;
  outside.aux.user = static_cast<std::uint8_t>((inside.aux.narrow ? SharedNarrow : 0) |
                                               (object.aux.narrow ? ObjectNarrow : 0));
  std::array<Ref, kBulkRefs> refs{};
  refs[kSharedBase] = inside.base;
  refs[kSharedOffset] = lowering.constant32(static_cast<std::uint32_t>(inside.offset));
  refs[kObjectBase] = object.base;
  refs[kObjectOffset] = lowering.constant32(static_cast<std::uint32_t>(object.offset));
  const Ref bytes = lowering.source(operands[2], Type::B32);
  const std::uint32_t list = lowering.list(refs);
  Op& op = lowering.emit(to_shared ? exec_copy<true> : exec_copy<false>, CostClass::Memory);
  outside.apply(op);
  op.c = bytes;
  op.list = list;
  return true;
}

}  // namespace cuco::vgpu
