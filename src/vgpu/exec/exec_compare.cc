// SPDX-License-Identifier: Apache-2.0
// Comparison and selection (PTX ISA 9.7.5): setp, set, selp, slct.
#include <cmath>

#include "vgpu/lower/lowering.h"
#include "vgpu/lower/pick.h"
#include "vgpu/numbers/comparison.h"
#include "vgpu/numbers/float_math.h"

namespace cuco::vgpu {

namespace {

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
template <typename T, Comparison R, bool Ftz>
void exec_setp(Warp& w, const Op& op) {
  const std::uint32_t mask = compare<T>(w, op, [](T a, T b) {
    if constexpr (Ftz)
      return compare_values(R, flush(a), flush(b));
    else
      return compare_values(R, a, b);
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
template <typename T, Comparison R, bool Ftz>
void exec_set(Warp& w, const Op& op) {
  std::uint32_t mask = compare<T>(w, op, [](T a, T b) {
    if constexpr (Ftz)
      return compare_values(R, flush(a), flush(b));
    else
      return compare_values(R, a, b);
  });
  mask = combine(mask, w.predicate(op.c), static_cast<Combine>(op.aux & 3U));
  const std::uint32_t one = (op.aux & 4U) != 0 ? 0x3F80'0000U : 0xFFFF'FFFFU;
  detail::store_lanes<std::uint32_t>(w.slots<std::uint32_t>(op.dst), w.active,
                                     [&](unsigned l) { return (mask >> l & 1U) != 0 ? one : 0U; });
}

template <typename T, bool Ftz, bool Predicate>
Handler pick_comparison(Comparison comparison) {
#define CUCO_CASE(name)  \
  case Comparison::name: \
    return Predicate ? exec_setp<T, Comparison::name, Ftz> : exec_set<T, Comparison::name, Ftz>;
  switch (comparison) {
    CUCO_CASE(Eq)
    CUCO_CASE(Ne) CUCO_CASE(Lt) CUCO_CASE(Le) CUCO_CASE(Gt) CUCO_CASE(Ge) default : break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (comparison) {
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
Handler pick_compare(ptx::Type type, Comparison comparison, bool ftz) {
  if (type == ptx::Type::F32) {
    return ftz ? pick_comparison<float, true, Predicate>(comparison)
               : pick_comparison<float, false, Predicate>(comparison);
  }
  if (type == ptx::Type::F64) return pick_comparison<double, false, Predicate>(comparison);
  return with_integer(type, [&]<typename T>(TypeTag<T>) -> Handler {
    return pick_comparison<T, false, Predicate>(comparison);
  });
}

Combine find_combine(const ptx::Instruction& in) {
  if (in.has(ptx::Modifier::And)) return Combine::And;
  if (in.has(ptx::Modifier::Or)) return Combine::Or;
  if (in.has(ptx::Modifier::Xor)) return Combine::Xor;
  return Combine::None;
}

bool lower_setp(Lowering& lowering, const ptx::Instruction& in) {
  const auto comparison = comparison_of(in);
  if (in.operands.size() < 3 || !comparison) return false;
  const ptx::Type type = in.types[0];
  const Handler handler = pick_compare<true>(type, *comparison, in.has(ptx::Modifier::Ftz));
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
  const auto comparison = comparison_of(in);
  if (in.operands.size() < 3 || in.types.size() < 2 || !comparison) return false;
  const ptx::Type type = in.types[1];
  const Handler handler = pick_compare<false>(type, *comparison, in.has(ptx::Modifier::Ftz));
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
