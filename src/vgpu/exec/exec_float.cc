// SPDX-License-Identifier: Apache-2.0
// f32 and f64 arithmetic (PTX ISA 9.7.3): add sub mul fma mad div sqrt rcp min max abs neg copysign
// testp. Round-to-nearest loops are vector code; other rounding modes switch the host's mode.
#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>

#include "vgpu/exec/fused.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/lower/pick.h"
#include "vgpu/numbers/float_math.h"

namespace cuco::vgpu {

namespace {

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (sizeof(T) == 8) return a != a && b != b ? b : a + b;  // Of two NaNs the second.
    return a + b;
  }
};
struct Sub {
  template <typename T>
  T operator()(T a, T b) const {
    return a - b;
  }
};
struct Mul {
  template <typename T>
  T operator()(T a, T b) const {
    return a * b;
  }
};
struct Div {
  template <typename T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
struct Fma {
  template <typename T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
struct Sqrt {
  template <typename T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct Rcp {
  template <typename T>
  T operator()(T a) const {
    return T{1} / a;
  }
};

/// One operation with ftz and sat around it.
template <typename F, bool Ftz, bool Sat>
struct Rounded {
  template <typename T, typename... Rest>
  T operator()(T a, Rest... rest) const {
    T value = Ftz ? F{}(flush(a), flush(rest)...) : F{}(a, rest...);
    if (Ftz) value = flush(value);
    return Sat ? saturate(value) : canonical(value);
  }
};

/// Adapts the arity of F to Rounded, whose call operator is variadic.
template <typename T, typename F, bool Ftz, bool Sat>
constexpr Handler rounded_handler() {
  using R = Rounded<F, Ftz, Sat>;
  if constexpr (std::is_invocable_v<F, T>)
    return lane_map1<T, T, R>;
  else if constexpr (std::is_invocable_v<F, T, T>)
    return lane_map2<T, T, T, R>;
  else
    return lane_map3<T, T, T, T, R>;
}

/// Runs another handler under a rounding mode of the host. The mode is data of the op so that the
/// compiler cannot move arithmetic across the switch.
template <Handler Inner, int Mode>
void with_rounding(Warp& w, const Op& op) {
  const int before = std::fegetround();
  std::fesetround(Mode);
  Inner(w, op);
  std::fesetround(before);
}

template <typename T, typename F, bool Ftz, bool Sat>
Handler pick_mode(const ptx::Instruction& in) {
  constexpr Handler kInner = rounded_handler<T, F, Ftz, Sat>();
  if (in.has(ptx::Modifier::Rz)) return with_rounding<kInner, FE_TOWARDZERO>;
  if (in.has(ptx::Modifier::Rm)) return with_rounding<kInner, FE_DOWNWARD>;
  if (in.has(ptx::Modifier::Rp)) return with_rounding<kInner, FE_UPWARD>;
  return kInner;
}

}  // namespace

void exec_fma_f32(Warp& w, const Op& op) {
  map3<float, float, float, float>(w, op, Rounded<Fma, false, false>{});
}

namespace {

template <typename F>
Handler pick_float(const ptx::Instruction& in, ptx::Type type) {
  const bool ftz = in.has(ptx::Modifier::Ftz);
  const bool sat = in.has(ptx::Modifier::Sat);
  if (type == ptx::Type::F64) return pick_mode<double, F, false, false>(in);
  if (type != ptx::Type::F32) return nullptr;
  if constexpr (std::is_same_v<F, Fma>) {
    constexpr std::array kDirected{ptx::Modifier::Rz, ptx::Modifier::Rm, ptx::Modifier::Rp};
    const bool nearest = std::none_of(kDirected.begin(), kDirected.end(),
                                      [&](ptx::Modifier m) { return in.has(m); });
    if (nearest && !ftz && !sat) return exec_fma_f32;
  }
  if (ftz) return sat ? pick_mode<float, F, true, true>(in) : pick_mode<float, F, true, false>(in);
  return sat ? pick_mode<float, F, false, true>(in) : pick_mode<float, F, false, false>(in);
}

/// min/max: a NaN operand loses, or with .NaN wins; -0 < +0.
template <bool Greater, bool NanWins, bool Ftz, bool XorSign>
struct MinMax {
  template <typename T>
  T operator()(T a, T b) const {
    if (Ftz) {
      a = flush(a);
      b = flush(b);
    }
    const bool flip = XorSign && std::signbit(a) != std::signbit(b);
    if (XorSign) {
      a = std::fabs(a);
      b = std::fabs(b);
    }
    T value;
    if (a != a || b != b) {
      const bool both = a != a && b != b;
      value = NanWins || both ? std::bit_cast<float>(0x7FFF'FFFFU) : (a != a ? b : a);
      if constexpr (sizeof(T) == 8) {
        if (NanWins || both) value = std::numeric_limits<double>::quiet_NaN();
      }
    } else if (a == b) {
      value = std::signbit(a) == Greater ? b : a;
    } else {
      value = (a > b) == Greater ? a : b;
    }
    return flip && value == value ? -value : value;
  }
};

template <bool Greater, bool NanWins, bool Ftz>
Handler pick_minmax_type(const ptx::Instruction& in, ptx::Type type) {
  const bool xorsign = in.has(ptx::Modifier::Xorsign);
  if (type == ptx::Type::F64) {
    return lane_map2<double, double, double, MinMax<Greater, NanWins, false, false>>;
  }
  if (xorsign) return lane_map2<float, float, float, MinMax<Greater, NanWins, Ftz, true>>;
  return lane_map2<float, float, float, MinMax<Greater, NanWins, Ftz, false>>;
}

template <bool Greater>
Handler pick_minmax(const ptx::Instruction& in, ptx::Type type) {
  const bool ftz = in.has(ptx::Modifier::Ftz);
  if (in.has(ptx::Modifier::Nan)) {
    return ftz ? pick_minmax_type<Greater, true, true>(in, type)
               : pick_minmax_type<Greater, true, false>(in, type);
  }
  return ftz ? pick_minmax_type<Greater, false, true>(in, type)
             : pick_minmax_type<Greater, false, false>(in, type);
}

/// Sign operations leave an f64 NaN alone and make an f32 one canonical, as the H200 does.
template <bool Ftz>
struct Neg {
  template <typename T>
  T operator()(T a) const {
    return a == a ? -(Ftz ? flush(a) : a) : canonical(a);
  }
};
template <bool Ftz>
struct Abs {
  template <typename T>
  T operator()(T a) const {
    return a == a ? std::fabs(Ftz ? flush(a) : a) : canonical(a);
  }
};
struct Copysign {
  template <typename T>
  T operator()(T a, T b) const {
    return std::copysign(b, a);  // PTX: sign of a, magnitude of b.
  }
};

enum class Test : std::uint32_t { Finite, Infinite, Number, NotANumber, Normal, Subnormal };

template <typename T>
void exec_testp(Warp& w, const Op& op) {
  const Slot<T>* a = w.slots<T>(op.a);
  std::uint32_t result = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const T value = from_slot<T>(a[l]);
    bool holds = false;
    switch (static_cast<Test>(op.aux)) {
      case Test::Finite:
        holds = std::isfinite(value);
        break;
      case Test::Infinite:
        holds = std::isinf(value);
        break;
      case Test::Number:
        holds = !std::isnan(value);
        break;
      case Test::NotANumber:
        holds = std::isnan(value);
        break;
      case Test::Normal:
        holds = std::isnormal(value) || value == T{0};
        break;
      case Test::Subnormal:
        holds = std::fpclassify(value) == FP_SUBNORMAL;
        break;
    }
    result |= (holds ? 1U : 0U) << l;
  }
  w.set_predicate(op.dst, result);
}

bool lower_testp(Lowering& lowering, const ptx::Instruction& in, ptx::Type type) {
  using M = ptx::Modifier;
  Test test = Test::Finite;
  if (in.has(M::Infinite)) test = Test::Infinite;
  if (in.has(M::Number)) test = Test::Number;
  if (in.has(M::Notanumber)) test = Test::NotANumber;
  if (in.has(M::Normal)) test = Test::Normal;
  if (in.has(M::Subnormal)) test = Test::Subnormal;
  const Ref dst = lowering.predicate_destination(in.operands[0]);
  const Ref a = lowering.source(in.operands[1], type);
  Op& op = lowering.emit(type == ptx::Type::F64 ? exec_testp<double> : exec_testp<float>,
                         CostClass::Float);
  op.dst = dst;
  op.a = a;
  op.aux = static_cast<std::uint32_t>(test);
  return true;
}

template <template <bool> class F>
Handler pick_sign(const ptx::Instruction& in, ptx::Type type) {
  if (type == ptx::Type::F64) return lane_map1<double, double, F<false>>;
  return in.has(ptx::Modifier::Ftz) ? lane_map1<float, float, F<true>>
                                    : lane_map1<float, float, F<false>>;
}

Handler pick_handler(const ptx::Instruction& in, ptx::Type type) {
  using ptx::Opcode;
  switch (in.opcode) {
    case Opcode::Add:
      return pick_float<Add>(in, type);
    case Opcode::Sub:
      return pick_float<Sub>(in, type);
    case Opcode::Mul:
      return pick_float<Mul>(in, type);
    case Opcode::Fma:
    case Opcode::Mad:
      return pick_float<Fma>(in, type);
    case Opcode::Div:
      return pick_float<Div>(in, type);
    case Opcode::Sqrt:
      return pick_float<Sqrt>(in, type);
    case Opcode::Rcp:
      return pick_float<Rcp>(in, type);
    case Opcode::Min:
      return pick_minmax<false>(in, type);
    case Opcode::Max:
      return pick_minmax<true>(in, type);
    case Opcode::Neg:
      return pick_sign<Neg>(in, type);
    case Opcode::Abs:
      return pick_sign<Abs>(in, type);
    case Opcode::Copysign:
      return type == ptx::Type::F64 ? lane_map2<double, double, double, Copysign>
                                    : lane_map2<float, float, float, Copysign>;
    default:
      return nullptr;
  }
}

CostClass cost_of(ptx::Opcode opcode, ptx::Type type) {
  if (type == ptx::Type::F64) return CostClass::Double;
  const bool special =
      opcode == ptx::Opcode::Div || opcode == ptx::Opcode::Sqrt || opcode == ptx::Opcode::Rcp;
  return special ? CostClass::Special : CostClass::Float;
}

}  // namespace

bool lower_float(Lowering& lowering, const ptx::Instruction& in) {
  if (in.types.empty() || in.operands.size() < 2) return false;
  const ptx::Type type = in.types[0];
  if (type != ptx::Type::F32 && type != ptx::Type::F64) return false;
  if (in.opcode == ptx::Opcode::Testp) return lower_testp(lowering, in, type);
  if (in.has(ptx::Modifier::Approx)) return false;
  const Handler handler = pick_handler(in, type);
  if (handler == nullptr) return false;
  const std::size_t sources = in.operands.size() - 1;
  const bool minmax = in.opcode == ptx::Opcode::Min || in.opcode == ptx::Opcode::Max;
  const Ref dst = lowering.destination(in.operands[0], type);
  const Ref a = lowering.source(in.operands[1], type);
  const Ref b = sources > 1 ? lowering.source(in.operands[2], type) : kScratch;
  const Ref c = sources > 2 ? lowering.source(in.operands[3], type) : kScratch;
  Op& op = lowering.emit(handler, cost_of(in.opcode, type));
  op.dst = dst;
  op.a = a;
  op.b = b;
  op.c = c;
  if (minmax && sources == 3) {  // Three-input form: max(max(a, b), c).
    Op& second = lowering.emit(handler, cost_of(in.opcode, type));
    second.dst = dst;
    second.a = dst;
    second.b = c;
  }
  return true;
}

}  // namespace cuco::vgpu
