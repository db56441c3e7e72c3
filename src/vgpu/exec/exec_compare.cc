// SPDX-License-Identifier: Apache-2.0
// Comparison and selection (PTX ISA 9.7.5): setp, set, selp, slct.
#include <cmath>

#include "vgpu/lower/lowering.h"
#include "vgpu/lower/pick.h"
#include "vgpu/numbers/float_math.h"

namespace cuco::vgpu {

namespace {

enum class Relation : std::uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};

template <Relation R>
struct Holds {
  template <typename T>
  bool operator()(T a, T b) const {
    // Written so that each is one vector compare; the -u forms are negations.
    switch (R) {
      case Relation::Eq:
        return a == b;
      case Relation::Ne:
        return a < b || a > b;  // Ordered for floats.
      case Relation::Lt:
        return a < b;
      case Relation::Le:
        return a <= b;
      case Relation::Gt:
        return a > b;
      case Relation::Ge:
        return a >= b;
      case Relation::Equ:
        return !(a < b || a > b);
      case Relation::Neu:
        return !(a == b);
      case Relation::Ltu:
        return !(a >= b);
      case Relation::Leu:
        return !(a > b);
      case Relation::Gtu:
        return !(a <= b);
      case Relation::Geu:
        return !(a < b);
      case Relation::Num:
        return a == a && b == b;
      case Relation::Nan:
        return !(a == a && b == b);
    }
    return false;
  }
};

enum class Combine : std::uint8_t { None, And, Or, Xor };

std::uint32_t combine(std::uint32_t mask, std::uint32_t other, Combine how) {
  switch (how) {
    case Combine::And:
      return mask & other;
    case Combine::Or:
      return mask | other;
    case Combine::Xor:
      return mask ^ other;
    default:
      return mask;
  }
}

/// aux: Combine; c: predicate to combine with; d: second destination.
template <typename T, Relation R, bool Ftz>
void exec_setp(Warp& w, const Op& op) {
  const std::uint32_t mask = compare<T>(w, op, [](T a, T b) {
    if constexpr (Ftz)
      return Holds<R>{}(flush(a), flush(b));
    else
      return Holds<R>{}(a, b);
  });
  const auto how = static_cast<Combine>(op.aux);
  if (how == Combine::None) {
    w.set_predicate(op.dst, mask);
    if (op.d != kScratchPredicate) w.set_predicate(op.d, ~mask);
    return;
  }
  const std::uint32_t other = w.predicate(op.c);
  w.set_predicate(op.dst, combine(mask, other, how));
  w.set_predicate(op.d, combine(~mask, other, how));
}

/// set: all ones, or 1.0 for an f32 destination.
template <typename T, Relation R, bool Ftz>
void exec_set(Warp& w, const Op& op) {
  std::uint32_t mask = compare<T>(w, op, [](T a, T b) {
    if constexpr (Ftz)
      return Holds<R>{}(flush(a), flush(b));
    else
      return Holds<R>{}(a, b);
  });
  mask = combine(mask, w.predicate(op.c), static_cast<Combine>(op.aux & 3U));
  const std::uint32_t one = (op.aux & 4U) != 0 ? 0x3F80'0000U : 0xFFFF'FFFFU;
  detail::store_lanes<std::uint32_t>(w.slots<std::uint32_t>(op.dst), w.active,
                                     [&](unsigned l) { return (mask >> l & 1U) != 0 ? one : 0U; });
}

template <typename T, bool Ftz, bool Predicate>
Handler pick_relation(Relation relation) {
#define CUCO_CASE(name) \
  case Relation::name:  \
    return Predicate ? exec_setp<T, Relation::name, Ftz> : exec_set<T, Relation::name, Ftz>;
  switch (relation) {
    CUCO_CASE(Eq)
    CUCO_CASE(Ne) CUCO_CASE(Lt) CUCO_CASE(Le) CUCO_CASE(Gt) CUCO_CASE(Ge) default : break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (relation) {
      CUCO_CASE(Equ)
      CUCO_CASE(Neu)
      CUCO_CASE(Ltu)
      CUCO_CASE(Leu) CUCO_CASE(Gtu) CUCO_CASE(Geu) CUCO_CASE(Num) CUCO_CASE(Nan) default : break;
    }
  }
#undef CUCO_CASE
  return nullptr;
}

template <bool Predicate>
Handler pick_compare(ptx::Type type, Relation relation, bool ftz) {
  if (type == ptx::Type::F32) {
    return ftz ? pick_relation<float, true, Predicate>(relation)
               : pick_relation<float, false, Predicate>(relation);
  }
  if (type == ptx::Type::F64) return pick_relation<double, false, Predicate>(relation);
  return with_integer(type, [&]<typename T>(TypeTag<T>) -> Handler {
    return pick_relation<T, false, Predicate>(relation);
  });
}

/// The comparison word of the opcode; lo/ls/hi/hs are the unsigned spellings.
bool find_relation(const ptx::Instruction& in, Relation& out) {
  using M = ptx::Modifier;
  for (const M modifier : in.modifiers) {
    switch (modifier) {
      case M::Eq:
        out = Relation::Eq;
        return true;
      case M::Ne:
        out = Relation::Ne;
        return true;
      case M::Lt:
      case M::Lo:
        out = Relation::Lt;
        return true;
      case M::Le:
      case M::Ls:
        out = Relation::Le;
        return true;
      case M::Gt:
      case M::Hi:
        out = Relation::Gt;
        return true;
      case M::Ge:
      case M::Hs:
        out = Relation::Ge;
        return true;
      case M::Equ:
        out = Relation::Equ;
        return true;
      case M::Neu:
        out = Relation::Neu;
        return true;
      case M::Ltu:
        out = Relation::Ltu;
        return true;
      case M::Leu:
        out = Relation::Leu;
        return true;
      case M::Gtu:
        out = Relation::Gtu;
        return true;
      case M::Geu:
        out = Relation::Geu;
        return true;
      case M::Num:
        out = Relation::Num;
        return true;
      case M::Nan:
      case M::NanTest:
        out = Relation::Nan;
        return true;
      default:
        break;
    }
  }
  return false;
}

Combine find_combine(const ptx::Instruction& in) {
  if (in.has(ptx::Modifier::And)) return Combine::And;
  if (in.has(ptx::Modifier::Or)) return Combine::Or;
  if (in.has(ptx::Modifier::Xor)) return Combine::Xor;
  return Combine::None;
}

bool lower_setp(Lowering& lowering, const ptx::Instruction& in) {
  Relation relation{};
  if (in.operands.size() < 3 || !find_relation(in, relation)) return false;
  const ptx::Type type = in.types[0];
  const Handler handler = pick_compare<true>(type, relation, in.has(ptx::Modifier::Ftz));
  if (handler == nullptr) return false;
  const Combine how = find_combine(in);
  const ptx::Operand& target = in.operands[0];
  Ref first = kScratchPredicate;
  Ref second = kScratchPredicate;
  if (target.kind == ptx::Operand::Kind::Pair) {
    first = lowering.predicate_destination(target.elements[0]);
    second = lowering.predicate_destination(target.elements[1]);
  } else {
    first = lowering.predicate_destination(target);
  }
  const Ref a = lowering.source(in.operands[1], type);
  const Ref b = lowering.source(in.operands[2], type);
  if (how != Combine::None && in.operands.size() < 4) return false;
  const Ref c = how != Combine::None ? lowering.source_predicate(in.operands[3]) : kTruePredicate;
  Op& op = lowering.emit(handler, integer_cost(type));
  op.dst = first;
  op.d = second;
  op.a = a;
  op.b = b;
  op.c = c;
  op.aux = static_cast<std::uint32_t>(how);
  return true;
}

bool lower_set(Lowering& lowering, const ptx::Instruction& in) {
  Relation relation{};
  if (in.operands.size() < 3 || in.types.size() < 2 || !find_relation(in, relation)) return false;
  const ptx::Type type = in.types[1];
  const Handler handler = pick_compare<false>(type, relation, in.has(ptx::Modifier::Ftz));
  if (handler == nullptr || Lowering::slot_bytes(in.types[0]) != 4) return false;
  const Combine how = find_combine(in);
  if (how != Combine::None && in.operands.size() < 4) return false;
  const Ref dst = lowering.destination(in.operands[0], in.types[0]);
  const Ref a = lowering.source(in.operands[1], type);
  const Ref b = lowering.source(in.operands[2], type);
  const Ref c = how != Combine::None ? lowering.source_predicate(in.operands[3]) : kTruePredicate;
  Op& op = lowering.emit(handler, integer_cost(type));
  op.dst = dst;
  op.a = a;
  op.b = b;
  op.c = c;
  op.aux = static_cast<std::uint32_t>(how) | (in.types[0] == ptx::Type::F32 ? 4U : 0U);
  return true;
}

template <typename T>
void exec_selp(Warp& w, const Op& op) {
  const std::uint32_t p = w.predicate(op.c);
  const Slot<T>* a = w.slots<T>(op.a);
  const Slot<T>* b = w.slots<T>(op.b);
  detail::store_lanes<Slot<T>>(w.slots<T>(op.dst), w.active,
                               [&](unsigned l) { return (p >> l & 1U) != 0 ? a[l] : b[l]; });
}

/// slct: a if c >= 0 else b.
template <typename T, typename C, bool Ftz>
void exec_slct(Warp& w, const Op& op) {
  const Slot<C>* c = w.slots<C>(op.c);
  const Slot<T>* a = w.slots<T>(op.a);
  const Slot<T>* b = w.slots<T>(op.b);
  detail::store_lanes<Slot<T>>(w.slots<T>(op.dst), w.active, [&](unsigned l) {
    const C value = from_slot<C>(c[l]);
    if constexpr (Ftz)
      return flush(value) >= C{0} ? a[l] : b[l];
    else
      return value >= C{0} ? a[l] : b[l];
  });
}

bool lower_select(Lowering& lowering, const ptx::Instruction& in) {
  if (in.operands.size() != 4) return false;
  const ptx::Type type = in.types[0];
  const bool wide = Lowering::slot_bytes(type) == 8;
  const bool by_predicate = in.opcode == ptx::Opcode::Selp;
  Handler handler = wide ? exec_selp<std::uint64_t> : exec_selp<std::uint32_t>;
  if (Lowering::slot_bytes(type) > 8 || (!by_predicate && in.types.size() < 2)) return false;
  if (!by_predicate) {
    const bool ftz = in.has(ptx::Modifier::Ftz);
    if (in.types[1] == ptx::Type::F32) {
      handler = wide ? (ftz ? exec_slct<std::uint64_t, float, true>
                            : exec_slct<std::uint64_t, float, false>)
                     : (ftz ? exec_slct<std::uint32_t, float, true>
                            : exec_slct<std::uint32_t, float, false>);
    } else {
      handler = wide ? exec_slct<std::uint64_t, std::int32_t, false>
                     : exec_slct<std::uint32_t, std::int32_t, false>;
    }
  }
  const Ref dst = lowering.destination(in.operands[0], type);
  const Ref a = lowering.source(in.operands[1], type);
  const Ref b = lowering.source(in.operands[2], type);
  const Ref c = by_predicate ? lowering.source_predicate(in.operands[3])
                             : lowering.source(in.operands[3], in.types[1]);
  Op& op = lowering.emit(handler, CostClass::Move);
  op.dst = dst;
  op.a = a;
  op.b = b;
  op.c = c;
  return true;
}

}  // namespace

bool lower_compare(Lowering& lowering, const ptx::Instruction& in) {
  if (in.types.empty()) return false;
  switch (in.opcode) {
    case ptx::Opcode::Setp:
      return lower_setp(lowering, in);
    case ptx::Opcode::Set:
      return lower_set(lowering, in);
    case ptx::Opcode::Selp:
    case ptx::Opcode::Slct:
      return lower_select(lowering, in);
    default:
      return false;
  }
}

}  // namespace cuco::vgpu
