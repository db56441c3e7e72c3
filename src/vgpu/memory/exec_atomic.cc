// SPDX-License-Identifier: Apache-2.0
// atom and red in every space, width and scope (PTX ISA 9.7.13.4 to 9.7.13.6).
//
// One run of the cluster is one thread, so an atomic is a read and a write with nobody in between;
// what remains is the order in virtual time, the lanes of a warp one after the other, and telling
// watchers and the spin detector what changed.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "ptx/flow/register_access.h"
#include "ptx/flow/uniform.h"
#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/memory/access.h"
#include "vgpu/memory/bulk.h"
#include "vgpu/memory/release.h"
#include "vgpu/numbers/float_kinds.h"
#include "vgpu/numbers/rounding.h"
#include "vgpu/weak/weak_memory.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Space;
using ptx::Type;

using Wide = std::array<std::uint64_t, 2>;

/// f32 sums in global memory flush subnormal numbers, those in shared memory do not.
struct Place {
  bool is_shared = false;
};

struct Add {
  template <typename T>
  T operator()(T old, T b, T, Place) const {
    return static_cast<T>(old + b);
  }
};
struct Min {
  template <typename T>
  T operator()(T old, T b, T, Place) const {
    return b < old ? b : old;
  }
};
struct Max {
  template <typename T>
  T operator()(T old, T b, T, Place) const {
    return old < b ? b : old;
  }
};
struct Inc {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t b, std::uint32_t, Place) const {
    return old >= b ? 0 : old + 1;
  }
};
struct Dec {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t b, std::uint32_t, Place) const {
    return old == 0 || old > b ? b : old - 1;
  }
};
struct And {
  template <typename T>
  T operator()(T old, T b, T, Place) const {
    return old & b;
  }
};
struct Or {
  template <typename T>
  T operator()(T old, T b, T, Place) const {
    return old | b;
  }
};
struct Xor {
  template <typename T>
  T operator()(T old, T b, T, Place) const {
    return old ^ b;
  }
};
struct Exchange {
  template <typename T>
  T operator()(T, T b, T, Place) const {
    return b;
  }
};
struct CompareAndSwap {
  template <typename T>
  T operator()(T old, T b, T c, Place) const {
    return old == b ? c : old;
  }
};
struct AddF32 {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t b, std::uint32_t, Place place) const {
    if (!place.is_shared) {
      old = KindF32::flush(old);
      b = KindF32::flush(b);
    }
    const auto sum = KindF32::put(std::bit_cast<float>(old) + std::bit_cast<float>(b));
    return place.is_shared ? sum : KindF32::flush(sum);
  }
};
struct AddF64 {
  std::uint64_t operator()(std::uint64_t old, std::uint64_t b, std::uint64_t, Place) const {
    const auto x = std::bit_cast<double>(old);
    const auto y = std::bit_cast<double>(b);
    return canonical_f64(x + y, x, y);
  }
};
template <typename Kind>
struct AddHalf {
  std::uint16_t operator()(std::uint16_t old, std::uint16_t b, std::uint16_t, Place) const {
    return static_cast<std::uint16_t>(
        narrow(Kind::get(old) + Kind::get(b), Kind::kFormat, Rounding::Nearest, Kind::kNan));
  }
};
template <typename Kind>
struct AddPair {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t b, std::uint32_t, Place place) const {
    const AddHalf<Kind> add;
    const auto half = [&](unsigned shift) {
      return static_cast<std::uint32_t>(add(static_cast<std::uint16_t>(old >> shift),
                                            static_cast<std::uint16_t>(b >> shift), 0, place));
    };
    return half(16) << 16U | half(0);
  }
};

/// Vector elements: refs of results, then of sources.
constexpr unsigned kMaxVector = 8;

template <typename T, typename F>
bool update(std::byte* at, T b, T c, Place place, T& old) {
  std::memcpy(&old, at, sizeof(T));
  const T fresh = F{}(old, b, c, place);
  if (std::memcmp(&fresh, &old, sizeof(T)) == 0) return false;
  std::memcpy(at, &fresh, sizeof(T));
  return true;
}

void mix(std::uint64_t& digest, const void* value, std::size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(value);
  for (std::size_t i = 0; i < bytes; ++i)
    digest = (digest ^ p[i]) * 0x100'0000'01B3ULL;
}

/// What lanes get to see where they might have come before the last writes; see exec_atomic.
template <typename T>
struct EarlierValues {
  std::uint32_t lanes = 0;
  std::array<T, kLanes> values;
};

/// An operation that leaves the value that it reads as it is (atomicAdd of 0, a failing CAS) is a
/// load: it may stand between any two writes that its thread has not learnt of, and is given old
/// values like a load. Whatever changes memory comes after the newest write: see weak_memory.h.
template <typename T, typename F>
EarlierValues<T> earlier_values(Warp& w,
                                const Op& op,
                                const MemoryAux& aux,
                                const LaneAddresses& addresses) {
  EarlierValues<T> earlier;
  WeakMemory* const weak = w.grid->weak;
  const bool is_global = aux.space == Space::Global || aux.space == Space::Generic;
  if (weak == nullptr || !is_global || aux.vector != 1) return earlier;
  for_active(w.active, [&](unsigned l) {
    if (!is_mapped_region(addresses[l]) || !w.memory->valid(addresses[l], sizeof(T))) return;
    std::array<std::byte, sizeof(T)> old;
    const std::byte* const current = Memory::at(addresses[l]);
    const std::byte* const seen = weak->read(w, op, addresses[l], sizeof(T), current, old.data());
    if (seen == current) return;
    T value;
    std::memcpy(&value, seen, sizeof value);
    const T fresh =
        F{}(value, from_slot<T>(w.slots<T>(op.b)[l]), from_slot<T>(w.slots<T>(op.c)[l]), Place{});
    if (std::memcmp(&fresh, &value, sizeof value) != 0) return;
    earlier.lanes |= 1U << l;
    earlier.values[l] = value;
  });
  return earlier;
}

template <typename T, typename F, bool Returns>
void exec_atomic(Warp& w, const Op& op) {
  w.sync_clock();
  if (w.clock > w.strict_limit) {
    yield_before(w, op);
    return;
  }
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  if (aux.space != Space::Shared) release_stores(w, aux);
  const std::uint32_t bytes = aux.vector * static_cast<std::uint32_t>(sizeof(T));
  LaneAddresses addresses;
  gather_addresses(w, op, addresses);
  // Before it is noted as a write, behind which its thread would see nothing older.
  EarlierValues<T> earlier;
  if constexpr (Returns) earlier = earlier_values<T, F>(w, op, aux, addresses);
  account(w, op, AccessKind::Atomic, addresses, bytes);
  const Ref* refs = w.kernel->refs.data() + op.list;
  bool changed = false;
  std::uint64_t digest = 0xCBF2'9CE4'8422'2325ULL;
  for_active(w.active, [&](unsigned l) {
    if (w.trapped()) return;
    std::byte* at = resolve(w, op, aux.space, l, addresses[l], bytes);
    if (at == nullptr) return;
    const Place place{aux.space == Space::Shared ||
                      (aux.space == Space::Generic && is_shared(addresses[l]))};
    bool wrote = false;
    for (unsigned v = 0; v < aux.vector; ++v) {
      const Ref source = aux.vector == 1 ? op.b : refs[kMaxVector + v];
      const T b = from_slot<T>(w.slots<T>(source)[l]);
      const T c = from_slot<T>(w.slots<T>(op.c)[l]);
      T old;
      if ((earlier.lanes >> l & 1U) != 0) {
        old = earlier.values[l];
      } else {
        wrote |= update<T, F>(at + v * sizeof(T), b, c, place, old);
      }
      if constexpr (Returns) {
        w.slots<T>(aux.vector == 1 ? op.dst : refs[v])[l] = to_slot<T>(old);
        mix(digest, &old, sizeof(T));
      }
    }
    if (wrote) after_write(w, aux.space, addresses[l], bytes);
    changed |= wrote;
  });
  if (w.trapped()) return;
  // What was seen is not what is there: nobody could wake it from waiting for a change.
  const bool saw_old = Returns && w.grid->weak != nullptr && w.grid->weak->after_load(w, op);
  if (changed || saw_old) {
    note_progress(w);
  } else if (Returns) {
    note_strong_read(w, op, addresses, bytes, digest);
  }
}

/// What is made of an operation: the instruction's handler…
struct AsInstruction {
  bool returns = false;
  template <typename T, typename F>
  [[nodiscard]] Handler make() const {
    return returns ? exec_atomic<T, F, true> : exec_atomic<T, F, false>;
  }
};
/// …or the reduction of one element in global memory.
struct AsReduction {
  template <typename T, typename F>
  [[nodiscard]] Reduction make() const {
    return [](std::byte* to, const std::byte* from) {
      T b;
      T old;
      std::memcpy(&b, from, sizeof b);
      update<T, F>(to, b, b, Place{}, old);
    };
  }
};
template <typename As>
using Made = decltype(std::declval<As>().template make<std::uint32_t, Add>());

template <typename F, typename As>
Made<As> for_bits(Type type, const As& as) {
  switch (ptx::size_of(type)) {
    case 2:
      return as.template make<std::uint16_t, F>();
    case 4:
      return as.template make<std::uint32_t, F>();
    case 8:
      return as.template make<std::uint64_t, F>();
    case 16:
      if constexpr (std::is_same_v<F, Exchange> || std::is_same_v<F, CompareAndSwap>) {
        return as.template make<Wide, F>();
      }
      return nullptr;
    default:
      return nullptr;
  }
}

template <typename F, typename As>
Made<As> for_ordered(Type type, const As& as) {
  switch (type) {
    case Type::U32:
      return as.template make<std::uint32_t, F>();
    case Type::S32:
      return as.template make<std::int32_t, F>();
    case Type::U64:
      return as.template make<std::uint64_t, F>();
    case Type::S64:
      return as.template make<std::int64_t, F>();
    default:
      return nullptr;
  }
}

template <typename As>
Made<As> addition(Type type, const As& as) {
  switch (type) {
    case Type::F32:
      return as.template make<std::uint32_t, AddF32>();
    case Type::F64:
      return as.template make<std::uint64_t, AddF64>();
    case Type::F16:
      return as.template make<std::uint16_t, AddHalf<KindF16>>();
    case Type::Bf16:
      return as.template make<std::uint16_t, AddHalf<KindBf16>>();
    case Type::F16x2:
      return as.template make<std::uint32_t, AddPair<KindF16>>();
    case Type::Bf16x2:
      return as.template make<std::uint32_t, AddPair<KindBf16>>();
    case Type::U32:
    case Type::S32:
      return as.template make<std::uint32_t, Add>();
    case Type::U64:
    case Type::S64:
      return as.template make<std::uint64_t, Add>();
    default:
      return nullptr;
  }
}

template <typename As>
Made<As> choose(const ptx::Instruction& instruction, Type type, const As& as) {
  for (const Modifier modifier : instruction.modifiers) {
    switch (modifier) {
      case Modifier::Add:
        return addition(type, as);
      case Modifier::Min:
        return for_ordered<Min>(type, as);
      case Modifier::Max:
        return for_ordered<Max>(type, as);
      case Modifier::Inc:
        return type == Type::U32 ? as.template make<std::uint32_t, Inc>() : nullptr;
      case Modifier::Dec:
        return type == Type::U32 ? as.template make<std::uint32_t, Dec>() : nullptr;
      case Modifier::And:
        return for_bits<And>(type, as);
      case Modifier::Or:
        return for_bits<Or>(type, as);
      case Modifier::Xor:
        return for_bits<Xor>(type, as);
      case Modifier::Exch:
        return for_bits<Exchange>(type, as);
      case Modifier::Cas:
        return for_bits<CompareAndSwap>(type, as);
      default:
        break;
    }
  }
  return nullptr;
}

/// AtomicBits: what ptxas and the L2 make of it.
std::uint8_t price_of(const ptx::Function& function,
                      const ptx::Instruction& instruction,
                      const ptx::Operand& address,
                      Type type) {
  switch (type) {
    case Type::F16:
    case Type::Bf16:
    case Type::F16x2:
    case Type::Bf16x2:
    case Type::F32:
    case Type::F64:
      return AtomicIsFloat;
    default:
      break;
  }
  constexpr std::array kAddedUp{Modifier::Add, Modifier::Min, Modifier::Max,
                                Modifier::And, Modifier::Or,  Modifier::Xor};
  const bool can_be_added_up =
      ptx::size_of(type) == 4 &&
      std::ranges::any_of(kAddedUp, [&](Modifier m) { return instruction.has(m); });
  return can_be_added_up && ptx::is_uniform(function, address) ? AtomicIsUniform : 0;
}

}  // namespace

Reduction reduction_of(const ptx::Instruction& instruction) {
  if (instruction.types.empty() || instruction.has(Modifier::Exch) ||
      instruction.has(Modifier::Cas))
    return nullptr;
  return choose(instruction, instruction.types.back(), AsReduction{});
}

bool lower_atomic(Lowering& lowering, const ptx::Instruction& instruction) {
  if (instruction.types.empty() || instruction.has(Modifier::Async)) return false;
  const Type type = instruction.types.back();
  const bool returns = instruction.opcode == ptx::Opcode::Atom;
  const Handler handler = choose(instruction, type, AsInstruction{returns});
  const std::size_t first = returns ? 1 : 0;  // operand index of the address
  const bool is_cas = instruction.has(Modifier::Cas);
  const auto& operands = instruction.operands;
  if (handler == nullptr || operands.size() < first + (is_cas ? 3 : 2)) return false;
  MemoryOperand memory = lowering.memory_operand(operands[first], type);
  // Atomics are relaxed where nothing else is said, and never weak.
  if (memory.aux.order == Order::Weak) memory.aux.order = Order::Relaxed;
  memory.aux.no_l1 = true;
  const bool has_scope = instruction.has(Modifier::Cta) || instruction.has(Modifier::Cluster) ||
                         instruction.has(Modifier::Gpu) || instruction.has(Modifier::Sys);
  if (!has_scope) memory.aux.scope = Scope::Gpu;
  memory.aux.user = price_of(lowering.function(), instruction, operands[first], type);
  if (returns && !ptx::is_read(lowering.function(), operands[0])) {
    memory.aux.user |= AtomicIsUnread;
  }
  const ptx::Operand& data = operands[first + 1];
  const bool is_one = data.kind == ptx::Operand::Kind::Integer && data.value == 1;
  const bool is_read = returns && (memory.aux.user & AtomicIsUnread) == 0;
  if (instruction.has(Modifier::Add) && ptx::size_of(type) == 4 && is_one && !is_read) {
    memory.aux.user |= AtomicCounts;
  }
  std::array<Ref, 2 * kMaxVector> list{};
  if (memory.aux.vector > 1) {
    const std::size_t count = memory.aux.vector;
    if (count > kMaxVector || data.elements.size() != count ||
        (returns && operands[0].elements.size() != count)) {
      return false;
    }
    for (std::size_t v = 0; v < count; ++v) {
      if (returns) list[v] = lowering.destination(operands[0].elements[v], type);
      list[kMaxVector + v] = lowering.source(data.elements[v], type);
    }
  }
  const bool plain = memory.aux.vector == 1;
  const Ref b = plain ? lowering.source(data, type) : list[kMaxVector];
  const Ref c = is_cas ? lowering.source(operands[first + 2], type) : b;
  const Ref dst = returns && plain ? lowering.destination(operands[0], type) : kScratch;
  const std::uint32_t refs = plain ? 0 : lowering.list(list);
  const bool shared = memory.aux.space == Space::Shared;
  Op& op = lowering.emit(handler, shared ? CostClass::Shared : CostClass::Atomic);
  memory.apply(op);
  op.b = b;
  op.c = c;
  op.dst = dst;
  op.list = refs;
  return true;
}

}  // namespace cuco::vgpu
