// SPDX-License-Identifier: Apache-2.0
// multimem.ld_reduce, .st and .red on multicast addresses (PTX ISA 9.7.9.13).
//
// A multicast address stands for the same offset in every member's memory. Loads reduce over the
// members in their order; stores and reductions go to each of them.
#include <array>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "vgpu/exec/exec.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/memory/access.h"
#include "vgpu/memory/release.h"
#include "vgpu/numbers/float_kinds.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Space;
using ptx::Type;

constexpr unsigned kMaxVector = 8;

struct AddInteger {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Min {
  template <typename T>
  static T apply(T a, T b) {
    return b < a ? b : a;
  }
};
struct Max {
  template <typename T>
  static T apply(T a, T b) {
    return a < b ? b : a;
  }
};
struct And {
  template <typename T>
  static T apply(T a, T b) {
    return a & b;
  }
};
struct Or {
  template <typename T>
  static T apply(T a, T b) {
    return a | b;
  }
};
struct Xor {
  template <typename T>
  static T apply(T a, T b) {
    return a ^ b;
  }
};

/// Floats as bits; Op: 0 add, 1 min, 2 max.
template <typename Kind, int Which>
struct FloatReduce {
  using Bits = typename Kind::Bits;
  static Bits apply(Bits a, Bits b) {
    const double x = Kind::get(a);
    const double y = Kind::get(b);
    if constexpr (Which == 0) {
      return static_cast<Bits>(narrow(x + y, Kind::kFormat, Rounding::Nearest, Kind::kNan));
    }
    if (x != x) return y != y ? Kind::kNan : b;
    if (y != y) return a;
    const bool first = Which == 1 ? x <= y : x >= y;
    return first ? a : b;
  }
};
template <typename Kind, int Which>
struct PairReduce {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    const auto half = [&](unsigned shift) {
      return static_cast<std::uint32_t>(FloatReduce<Kind, Which>::apply(
          static_cast<std::uint16_t>(a >> shift), static_cast<std::uint16_t>(b >> shift)));
    };
    return half(16) << 16U | half(0);
  }
};

const Multicast* multicast_of(
    Warp& w, const Op& op, unsigned lane, Address address, unsigned bytes) {
  const Multicast* cast = w.memory->find_multicast(address);
  if (cast == nullptr || address - cast->base + bytes > cast->bytes) {
    w.raise(op, TrapKind::IllegalAddress, lane,
            fmt::format("no multicast object at {:#x}", address), address);
    return nullptr;
  }
  return cast;
}

/// Each member's bytes are an access of their own, but for what they publish.
void observe_member(Warp& w,
                    const Op& op,
                    AccessKind kind,
                    unsigned lane,
                    Address address,
                    unsigned bytes,
                    bool is_last) {
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  LaneAddresses own{};
  own[lane] = w.memory->canonical(address);
  w.observer->on_access(w, op,
                        AccessEvent{.kind = kind,
                                    .space = Space::Global,
                                    .order = aux.order,
                                    .scope = aux.scope,
                                    .bytes = bytes,
                                    .lanes = 1U << lane,
                                    .addresses = own,
                                    .goes_on = !is_last,
                                    .element = aux.vector > 1 ? aux.bytes : 0U});
}

/// Calls f(server memory, member address) for the members of each active lane's address.
template <typename F>
void for_each_member(Warp& w, const Op& op, AccessKind kind, unsigned bytes, F&& f) {
  LaneAddresses addresses;
  gather_addresses(w, op, addresses);
  account_multicast(w, op, kind, addresses, bytes);
  for_active(w.active, [&](unsigned l) {
    if (w.trapped()) return;
    const Multicast* cast = multicast_of(w, op, l, addresses[l], bytes);
    if (cast == nullptr) return;
    bool is_first = true;
    for (const Address member : cast->members) {
      const Address address = member + (addresses[l] - cast->base);
      std::byte* at = resolve(w, op, Space::Global, l, address, bytes);
      if (at == nullptr) return;
      if (w.observer != nullptr) {
        observe_member(w, op, kind, l, address, bytes, member == cast->members.back());
      }
      f(l, at, address, is_first);
      is_first = false;
    }
  });
}

/// Strong ones wait for their turn in virtual time.
bool must_wait(Warp& w, const Op& op) {
  w.sync_clock();
  if (w.clock <= w.strict_limit) return false;
  yield_before(w, op);
  return true;
}

template <typename T, typename F>
void exec_load_reduce(Warp& w, const Op& op) {
  if (must_wait(w, op)) return;
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  const Ref* refs = w.kernel->refs.data() + op.list;
  for_each_member(w, op, AccessKind::Load, aux.vector * sizeof(T),
                  [&](unsigned l, const std::byte* at, Address, bool is_first) {
                    for (unsigned v = 0; v < aux.vector; ++v) {
                      T value;
                      std::memcpy(&value, at + v * sizeof(T), sizeof(T));
                      Slot<T>& slot = w.slots<T>(refs[v])[l];
                      slot = to_slot<T>(is_first ? value : F::apply(from_slot<T>(slot), value));
                    }
                  });
}

/// red, or st when F is void.
template <typename T, typename F>
void exec_update(Warp& w, const Op& op) {
  if (must_wait(w, op)) return;
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  release_stores(w, aux);
  const Ref* refs = w.kernel->refs.data() + op.list;
  constexpr AccessKind kKind = std::is_void_v<F> ? AccessKind::Store : AccessKind::Atomic;
  for_each_member(w, op, kKind, aux.vector * sizeof(T),
                  [&](unsigned l, std::byte* at, Address address, bool) {
                    for (unsigned v = 0; v < aux.vector; ++v) {
                      T value = from_slot<T>(w.slots<T>(refs[v])[l]);
                      if constexpr (!std::is_void_v<F>) {
                        T old;
                        std::memcpy(&old, at + v * sizeof(T), sizeof(T));
                        value = F::apply(old, value);
                      }
                      std::memcpy(at + v * sizeof(T), &value, sizeof(T));
                    }
                    after_write(w, Space::Global, address, aux.vector * sizeof(T));
                  });
  note_progress(w);
}

template <typename T, typename F>
Handler pick(bool load) {
  if constexpr (std::is_void_v<F>)
    return exec_update<T, void>;
  else
    return load ? exec_load_reduce<T, F> : exec_update<T, F>;
}

template <typename F>
Handler for_integer(Type type, bool load) {
  switch (type) {
    case Type::U32:
    case Type::B32:
      return pick<std::uint32_t, F>(load);
    case Type::S32:
      return pick<std::int32_t, F>(load);
    case Type::U64:
    case Type::B64:
      return pick<std::uint64_t, F>(load);
    case Type::S64:
      return pick<std::int64_t, F>(load);
    default:
      return nullptr;
  }
}

template <int Which>
Handler for_float(Type type, bool load) {
  switch (type) {
    case Type::F16:
      return pick<std::uint16_t, FloatReduce<KindF16, Which>>(load);
    case Type::Bf16:
      return pick<std::uint16_t, FloatReduce<KindBf16, Which>>(load);
    case Type::F16x2:
      return pick<std::uint32_t, PairReduce<KindF16, Which>>(load);
    case Type::Bf16x2:
      return pick<std::uint32_t, PairReduce<KindBf16, Which>>(load);
    case Type::F32:
      return pick<std::uint32_t, FloatReduce<KindF32, Which>>(load);
    case Type::F64:
      return pick<std::uint64_t, FloatReduce<KindF64, Which>>(load);
    default:
      return nullptr;
  }
}

Handler store_handler(Type type) {
  switch (ptx::size_of(type)) {
    case 2:
      return exec_update<std::uint16_t, void>;
    case 4:
      return exec_update<std::uint32_t, void>;
    case 8:
      return exec_update<std::uint64_t, void>;
    default:
      return nullptr;
  }
}

Handler choose(const ptx::Instruction& in, Type type, bool load) {
  if (in.has(Modifier::St)) return store_handler(type);
  const auto either = [&](Handler integer, Handler floating) {
    return integer != nullptr ? integer : floating;
  };
  if (in.has(Modifier::Add)) {
    return either(for_integer<AddInteger>(type, load), for_float<0>(type, load));
  }
  if (in.has(Modifier::Min)) return either(for_integer<Min>(type, load), for_float<1>(type, load));
  if (in.has(Modifier::Max)) return either(for_integer<Max>(type, load), for_float<2>(type, load));
  if (in.has(Modifier::And)) return for_integer<And>(type, load);
  if (in.has(Modifier::Or)) return for_integer<Or>(type, load);
  if (in.has(Modifier::Xor)) return for_integer<Xor>(type, load);
  return nullptr;
}

}  // namespace

bool lower_multimem(Lowering& lowering, const ptx::Instruction& in) {
  if (in.types.empty() || in.operands.size() != 2) return false;
  const Type type = in.types.back();
  const bool load = in.has(Modifier::LdReduce);
  const Handler handler = choose(in, type, load);
  if (handler == nullptr) return false;
  MemoryOperand memory = lowering.memory_operand(in.operands[load ? 1 : 0], type);
  memory.aux.space = Space::Global;
  const ptx::Operand& data = in.operands[load ? 0 : 1];
  const bool is_vector = data.kind == ptx::Operand::Kind::Vector;
  std::vector<Ref> refs;
  for (std::size_t i = 0; i < (is_vector ? data.elements.size() : 1); ++i) {
    const ptx::Operand& element = is_vector ? data.elements[i] : data;
    refs.push_back(load ? lowering.destination(element, type) : lowering.source(element, type));
  }
  if (refs.size() != memory.aux.vector || refs.size() > kMaxVector) return false;
  const std::uint32_t start = lowering.list(refs);
  Op& op = lowering.emit(handler, CostClass::Memory);
  memory.apply(op);
  op.list = start;
  return true;
}

}  // namespace cuco::vgpu
