// SPDX-License-Identifier: Apache-2.0
// Arithmetic and comparison of f16, bf16 and their pairs (PTX ISA 9.7.4, 9.7.7).
//
// A pair is two independent halves, so every handler exists once per kind and runs its scalar
// function once or twice. Sums and products of two f16 values are exact enough in f32 that a second
// rounding is harmless; bf16 goes through double because its range is that of f32.
#include <cmath>
#include <type_traits>

#include "vgpu/exec/exec.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/numbers/comparison.h"
#include "vgpu/numbers/float_kinds.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Type;

enum AuxBit : std::uint32_t { Ftz = 1, Sat = 2, Relu = 4, Nan = 8, XorSign = 16 };

template <typename Kind>
std::uint16_t from_double(double value) {
  return static_cast<std::uint16_t>(narrow(value, Kind::kFormat, Rounding::Nearest, Kind::kNan));
}

struct Add {
  template <typename Kind>
  static std::uint16_t apply(std::uint16_t a, std::uint16_t b, std::uint16_t) {
    if constexpr (std::is_same_v<Kind, KindF16>) return to_f16(from_f16(a) + from_f16(b));
    return from_double<Kind>(Kind::get(a) + Kind::get(b));
  }
};
struct Sub {
  template <typename Kind>
  static std::uint16_t apply(std::uint16_t a, std::uint16_t b, std::uint16_t) {
    if constexpr (std::is_same_v<Kind, KindF16>) return to_f16(from_f16(a) - from_f16(b));
    return from_double<Kind>(Kind::get(a) - Kind::get(b));
  }
};
struct Mul {
  template <typename Kind>
  static std::uint16_t apply(std::uint16_t a, std::uint16_t b, std::uint16_t) {
    if constexpr (std::is_same_v<Kind, KindF16>) return to_f16(from_f16(a) * from_f16(b));
    return from_double<Kind>(Kind::get(a) * Kind::get(b));
  }
};
struct Fma {
  template <typename Kind>
  static std::uint16_t apply(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
    return from_double<Kind>(fma_to_odd(Kind::get(a), Kind::get(b), Kind::get(c)));
  }
};
struct Neg {
  template <typename Kind>
  static std::uint16_t apply(std::uint16_t a, std::uint16_t, std::uint16_t) {
    return Kind::is_nan(a) ? Kind::kNan : static_cast<std::uint16_t>(a ^ 0x8000U);
  }
};
struct Abs {
  template <typename Kind>
  static std::uint16_t apply(std::uint16_t a, std::uint16_t, std::uint16_t) {
    return Kind::is_nan(a) ? Kind::kNan : static_cast<std::uint16_t>(a & 0x7FFFU);
  }
};
struct Ex2 {
  template <typename Kind>
  static std::uint16_t apply(std::uint16_t a, std::uint16_t, std::uint16_t) {
    return from_double<Kind>(std::exp2(Kind::get(a)));
  }
};
struct Tanh {
  template <typename Kind>
  static std::uint16_t apply(std::uint16_t a, std::uint16_t, std::uint16_t) {
    return from_double<Kind>(std::tanh(Kind::get(a)));
  }
};

/// min and max: a NaN loses unless .NaN; -0 is below +0; .xorsign.abs compares magnitudes and
/// takes the product's sign.
template <typename Kind, bool Largest>
std::uint16_t extreme(std::uint16_t a, std::uint16_t b, std::uint32_t aux) {
  const auto sign = static_cast<std::uint16_t>((a ^ b) & 0x8000U);
  if ((aux & XorSign) != 0) {
    a &= 0x7FFFU;
    b &= 0x7FFFU;
  }
  std::uint16_t out = 0;
  if (Kind::is_nan(a) || Kind::is_nan(b)) {
    const bool both = Kind::is_nan(a) && Kind::is_nan(b);
    if ((aux & Nan) != 0 || both) return Kind::kNan;
    out = Kind::is_nan(a) ? b : a;
  } else {
    // Sign and magnitude to a number that orders as the values do, zeros included.
    const auto key = [](std::uint16_t x) {
      return (x & 0x8000U) != 0 ? -static_cast<int>(x & 0x7FFFU) - 1 : static_cast<int>(x);
    };
    out = (key(a) < key(b)) != Largest ? a : b;
  }
  return (aux & XorSign) != 0 ? static_cast<std::uint16_t>((out & 0x7FFFU) | sign) : out;
}

struct Min {
  template <typename Kind>
  static std::uint16_t apply(std::uint16_t a, std::uint16_t b, std::uint16_t, std::uint32_t aux) {
    return extreme<Kind, false>(a, b, aux);
  }
};
struct Max {
  template <typename Kind>
  static std::uint16_t apply(std::uint16_t a, std::uint16_t b, std::uint16_t, std::uint32_t aux) {
    return extreme<Kind, true>(a, b, aux);
  }
};

template <typename Kind, typename F>
std::uint16_t one_half(std::uint16_t a, std::uint16_t b, std::uint16_t c, std::uint32_t aux) {
  if ((aux & Ftz) != 0) {
    a = Kind::flush(a);
    b = Kind::flush(b);
    c = Kind::flush(c);
  }
  std::uint16_t out = 0;
  if constexpr (std::is_same_v<F, Min> || std::is_same_v<F, Max>) {
    out = F::template apply<Kind>(a, b, c, aux);
  } else {
    out = F::template apply<Kind>(a, b, c);
  }
  if ((aux & Ftz) != 0) out = Kind::flush(out);
  if ((aux & Relu) != 0) out = Kind::relu(out);
  if ((aux & Sat) != 0) out = Kind::saturate(out);
  return out;
}

template <typename Kind, typename F, bool Pair>
void half_op(Warp& w, const Op& op) {
  using Value = std::conditional_t<Pair, std::uint32_t, std::uint16_t>;
  const std::uint32_t aux = op.aux;
  map3<Value, Value, Value, Value>(w, op, [&](Value a, Value b, Value c) -> Value {
    const auto low = one_half<Kind, F>(static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b),
                                       static_cast<std::uint16_t>(c), aux);
    if constexpr (!Pair) return low;
    const auto high = one_half<Kind, F>(static_cast<std::uint16_t>(a >> 16U),
                                        static_cast<std::uint16_t>(b >> 16U),
                                        static_cast<std::uint16_t>(c >> 16U), aux);
    return static_cast<Value>(static_cast<std::uint32_t>(high) << 16U | low);
  });
}

template <typename F>
Handler handler_of(Type type) {
  switch (type) {
    case Type::F16:
      return half_op<KindF16, F, false>;
    case Type::F16x2:
      return half_op<KindF16, F, true>;
    case Type::Bf16:
      return half_op<KindBf16, F, false>;
    case Type::Bf16x2:
      return half_op<KindBf16, F, true>;
    default:
      return nullptr;
  }
}

struct Choice {
  Handler handler = nullptr;
  unsigned sources = 2;
  CostClass cost = CostClass::Float;
};

Choice choose(ptx::Opcode opcode, Type type) {
  using O = ptx::Opcode;
  switch (opcode) {
    case O::Add:
      return {handler_of<Add>(type)};
    case O::Sub:
      return {handler_of<Sub>(type)};
    case O::Mul:
      return {handler_of<Mul>(type)};
    case O::Fma:
    case O::Mad:
      return {handler_of<Fma>(type), 3};
    case O::Neg:
      return {handler_of<Neg>(type), 1};
    case O::Abs:
      return {handler_of<Abs>(type), 1};
    case O::Min:
      return {handler_of<Min>(type)};
    case O::Max:
      return {handler_of<Max>(type)};
    case O::Ex2:
      return {handler_of<Ex2>(type), 1, CostClass::Special};
    case O::Tanh:
      return {handler_of<Tanh>(type), 1, CostClass::Special};
    default:
      return {};
  }
}

// ---- setp and set

template <typename Kind>
bool holds(Comparison comparison, std::uint16_t a, std::uint16_t b, bool ftz) {
  if (ftz) {
    a = Kind::flush(a);
    b = Kind::flush(b);
  }
  return compare_values(comparison, Kind::get(a), Kind::get(b));
}

/// Masks of the lanes whose low (and high) halves compare true.
template <typename Kind, bool Pair>
std::pair<std::uint32_t, std::uint32_t> half_masks(const Warp& w, const Op& op) {
  const auto comparison = static_cast<Comparison>(op.aux & 0xFFU);
  const bool ftz = (op.aux & 0x100U) != 0;
  const std::uint32_t* a = w.slots<std::uint32_t>(op.a);
  const std::uint32_t* b = w.slots<std::uint32_t>(op.b);
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const auto part = [&](unsigned shift) {
      return holds<Kind>(comparison, static_cast<std::uint16_t>(a[l] >> shift),
                         static_cast<std::uint16_t>(b[l] >> shift), ftz)
                 ? 1U << l
                 : 0U;
    };
    low |= part(0);
    if constexpr (Pair) high |= part(16);
  }
  return {low, high};
}

std::uint32_t combine(std::uint32_t mask, std::uint32_t other, std::uint32_t aux) {
  switch (aux >> 12U & 3U) {
    case 1:
      return mask & other;
    case 2:
      return mask | other;
    case 3:
      return mask ^ other;
    default:
      return mask;
  }
}

/// setp p|q: for pairs q is the upper half's answer, else the opposite of p's.
template <typename Kind, bool Pair>
void half_setp(Warp& w, const Op& op) {
  const auto [low, high] = half_masks<Kind, Pair>(w, op);
  const std::uint32_t other = w.predicate(op.c);
  w.set_predicate(op.dst, combine(low, other, op.aux));
  if (op.d != kNoRef) w.set_predicate(op.d, combine(Pair ? high : ~low, other, op.aux));
}

/// set: all ones for integers, 1.0 for floats; imm holds the value of one half.
template <typename Kind, bool Pair>
void half_set(Warp& w, const Op& op) {
  auto [low, high] = half_masks<Kind, Pair>(w, op);
  const std::uint32_t other = w.predicate(op.c);
  low = combine(low, other, op.aux);
  high = combine(high, other, op.aux);
  const auto value = static_cast<std::uint32_t>(op.imm);
  detail::store_lanes<std::uint32_t>(w.slots<std::uint32_t>(op.dst), w.active, [&](unsigned l) {
    const std::uint32_t first = (low >> l & 1U) != 0 ? value : 0;
    if constexpr (!Pair) return first;
    return ((high >> l & 1U) != 0 ? value << 16U : 0) | first;
  });
}

template <typename Kind>
Handler comparison_handler(bool is_set, bool pair) {
  if (is_set) return pair ? half_set<Kind, true> : half_set<Kind, false>;
  return pair ? half_setp<Kind, true> : half_setp<Kind, false>;
}

bool lower_half_comparison(Lowering& lowering, const ptx::Instruction& instruction) {
  const bool is_set = instruction.opcode == ptx::Opcode::Set;
  const Type type = instruction.types.back();
  const bool pair = type == Type::F16x2 || type == Type::Bf16x2;
  const bool brain = type == Type::Bf16 || type == Type::Bf16x2;
  const auto comparison = comparison_of(instruction);
  const auto& operands = instruction.operands;
  if (!comparison || operands.size() < 3) return false;
  const Handler handler = brain ? comparison_handler<KindBf16>(is_set, pair)
                                : comparison_handler<KindF16>(is_set, pair);
  std::uint32_t aux = static_cast<std::uint32_t>(*comparison);
  if (instruction.has(Modifier::Ftz)) aux |= 0x100U;
  if (operands.size() > 3) {
    aux |= (instruction.has(Modifier::And) ? 1U : instruction.has(Modifier::Or) ? 2U : 3U) << 12U;
  }
  const Ref a = lowering.source(operands[1], type);
  const Ref b = lowering.source(operands[2], type);
  const Ref c = operands.size() > 3 ? lowering.source_predicate(operands[3]) : kTruePredicate;
  Op& op = lowering.emit(handler, CostClass::Float);
  op.a = a;
  op.b = b;
  op.c = c;
  op.aux = aux;
  if (is_set) {
    const Type to = instruction.types.front();
    op.dst = lowering.destination(operands[0], to);
    const bool whole = to == Type::U32 || to == Type::S32 || to == Type::U16 || to == Type::S16;
    op.imm = whole                                    ? 0xFFFF'FFFFU
             : to == Type::F32                        ? 0x3F80'0000U
             : to == Type::Bf16 || to == Type::Bf16x2 ? KindBf16::kOne
                                                      : KindF16::kOne;
  } else if (operands[0].kind == ptx::Operand::Kind::Pair) {
    op.dst = lowering.predicate_destination(operands[0].elements[0]);
    op.d = lowering.predicate_destination(operands[0].elements[1]);
  } else {
    op.dst = lowering.predicate_destination(operands[0]);
  }
  return true;
}

}  // namespace

bool lower_half(Lowering& lowering, const ptx::Instruction& instruction) {
  if (instruction.types.empty()) return false;
  if (instruction.opcode == ptx::Opcode::Setp || instruction.opcode == ptx::Opcode::Set) {
    return lower_half_comparison(lowering, instruction);
  }
  const Type type = instruction.types[0];
  const auto [handler, sources, cost] = choose(instruction.opcode, type);
  if (handler == nullptr || instruction.operands.size() != sources + 1) return false;
  std::array<Ref, 3> refs{};
  for (unsigned i = 0; i < sources; ++i) {
    refs[i] = lowering.source(instruction.operands[i + 1], type);
  }
  // Handlers read three sources; what is not there repeats the first.
  for (unsigned i = sources; i < refs.size(); ++i)
    refs[i] = refs[0];
  Op& op = lowering.emit(handler, cost);
  op.dst = lowering.destination(instruction.operands[0], type);
  op.a = refs[0];
  op.b = refs[1];
  op.c = refs[2];
  if (instruction.has(Modifier::Ftz)) op.aux |= Ftz;
  if (instruction.has(Modifier::Sat)) op.aux |= Sat;
  if (instruction.has(Modifier::Relu)) op.aux |= Relu;
  if (instruction.has(Modifier::Nan)) op.aux |= Nan;
  if (instruction.has(Modifier::Xorsign)) op.aux |= XorSign;
  return true;
}

}  // namespace cuco::vgpu
