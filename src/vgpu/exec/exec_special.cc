// SPDX-License-Identifier: Apache-2.0
// rcp, sqrt, rsqrt, div, ex2, lg2, sin, cos, tanh of f32 and f64 (PTX ISA 9.7.3).
//
// The approximations of the hardware are tables and interpolation that nobody has published; here
// they are the correctly rounded value or near it, so results agree within the ulps that PTX
// allows. Everything is computed in double: branch-free polynomials where a compiler can make
// vector code of them.
#include <bit>
#include <cmath>
#include <limits>

#include "vgpu/exec/exec.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/numbers/float_kinds.h"
#include "vgpu/numbers/rounding.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

enum AuxBit : std::uint32_t { Ftz = 8 };

constexpr double kLn2 = 0.693147180559945309;
constexpr double kPi = 3.14159265358979324;

/// 2^x for any double; exact to 1e-10, which is far below an f32's half unit.
double fast_exp2(double x) {
  const double clamped = x < -1000.0 ? -1000.0 : x > 1000.0 ? 1000.0 : x;
  const double whole = std::rint(clamped);
  const double t = (clamped - whole) * kLn2;
  double p = 1.0 / 362880;
  p = p * t + 1.0 / 40320;
  p = p * t + 1.0 / 5040;
  p = p * t + 1.0 / 720;
  p = p * t + 1.0 / 120;
  p = p * t + 1.0 / 24;
  p = p * t + 1.0 / 6;
  p = p * t + 0.5;
  p = p * t + 1.0;
  p = p * t + 1.0;
  const auto exponent = static_cast<std::uint64_t>(
      static_cast<std::int64_t>(static_cast<std::int32_t>(whole) + 1023));
  return x != x ? x : p * std::bit_cast<double>(exponent << 52U);
}

/// log2 of a positive normal double.
double fast_log2(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  constexpr std::uint64_t kSqrtHalf = 0x3FE6'A09E'667F'3BCDU;
  const std::uint64_t shifted = bits - kSqrtHalf;
  const auto exponent = static_cast<std::int32_t>(static_cast<std::int64_t>(shifted) >> 52);
  const double m = std::bit_cast<double>((shifted & 0xF'FFFF'FFFF'FFFFU) + kSqrtHalf);
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  double p = 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1.0;
  return static_cast<double>(exponent) + 2.0 / kLn2 * s * p;
}

struct Rcp {
  static double apply(double a) { return 1.0 / a; }
};
struct Sqrt {
  static double apply(double a) { return std::sqrt(a); }
};
struct Rsqrt {
  static double apply(double a) { return 1.0 / std::sqrt(a); }
};
struct Ex2 {
  static double apply(double a) { return fast_exp2(a); }
};
struct Lg2 {
  static double apply(double a) {
    const double log = fast_log2(a);
    const double zero_or_less = a == 0 ? -std::numeric_limits<double>::infinity()
                                       : std::numeric_limits<double>::quiet_NaN();
    return a > 0 ? (a == std::numeric_limits<double>::infinity() ? a : log) : zero_or_less;
  }
};
/// The hardware multiplies by 1/(2 pi) in f32, towards zero, and takes the sine of turns: that is
/// why large arguments lose digits.
double turns(double a) {
  const double product = a * static_cast<double>(0.15915494F);
  const auto bits = std::bit_cast<std::uint64_t>(product) & ~((std::uint64_t{1} << 29U) - 1);
  const double t = std::bit_cast<double>(bits);
  return (t - std::floor(t)) * 2 * kPi;
}
struct Sin {
  static double apply(double a) { return std::sin(turns(a)); }
};
struct Cos {
  static double apply(double a) { return std::cos(turns(a)); }
};
struct Tanh {
  static double apply(double a) { return std::tanh(a); }
};

template <typename F, bool Flush>
void special_f32(Warp& w, const Op& op) {
  map1<std::uint32_t, std::uint32_t>(w, op, [](std::uint32_t a) {
    if constexpr (Flush) a = KindF32::flush(a);
    const auto out = KindF32::put(static_cast<float>(F::apply(KindF32::get(a))));
    return Flush ? KindF32::flush(out) : out;
  });
}

/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read the upper words alone.
template <typename F>
void special_f64_upper(Warp& w, const Op& op) {
  map1<std::uint64_t, std::uint64_t>(w, op, [](std::uint64_t a) -> std::uint64_t {
    const std::uint64_t in = KindF64::flush(a & 0xFFFF'FFFF'0000'0000U);
    const double value = F::apply(KindF64::get(in));
    if (value != value) return 0x7FFF'FFFF'0000'0000U;
    return KindF64::flush(std::bit_cast<std::uint64_t>(value) & 0xFFFF'FFFF'0000'0000U);
  });
}

template <typename F>
void special_f64(Warp& w, const Op& op) {
  map1<std::uint64_t, std::uint64_t>(w, op, [](std::uint64_t a) {
    const double value = F::apply(KindF64::get(a));
    return value != value ? KindF64::kNan : std::bit_cast<std::uint64_t>(value);
  });
}

// ---- correctly rounded forms

/// The quotient or root of f32 values in double is never so near to an f32 or to the middle of two
/// that the second rounding could go wrong.
template <typename F>
void rounded_f32(Warp& w, const Op& op) {
  const auto mode = static_cast<Rounding>(op.aux & 7U);
  const bool ftz = (op.aux & Ftz) != 0;
  map1<std::uint32_t, std::uint32_t>(w, op, [&](std::uint32_t a) {
    if (ftz) a = KindF32::flush(a);
    const double value = F::apply(KindF32::get(a));
    const auto out = mode == Rounding::Nearest
                         ? KindF32::put(static_cast<float>(value))
                         : static_cast<std::uint32_t>(narrow(value, kF32, mode, kNanF32));
    return ftz ? KindF32::flush(out) : out;
  });
}

void divide_f32(Warp& w, const Op& op) {
  const auto mode = static_cast<Rounding>(op.aux & 7U);
  const bool ftz = (op.aux & Ftz) != 0;
  map2<std::uint32_t, std::uint32_t, std::uint32_t>(w, op, [&](std::uint32_t a, std::uint32_t b) {
    if (ftz) {
      a = KindF32::flush(a);
      b = KindF32::flush(b);
    }
    const double value = KindF32::get(a) / KindF32::get(b);
    const auto out = mode == Rounding::Nearest
                         ? KindF32::put(static_cast<float>(value))
                         : static_cast<std::uint32_t>(narrow(value, kF32, mode, kNanF32));
    return ftz ? KindF32::flush(out) : out;
  });
}

/// div.approx is a * rcp(b), whose reciprocal flushes to zero for the largest b.
template <bool Flush, bool Full>
void divide_approx(Warp& w, const Op& op) {
  map2<std::uint32_t, std::uint32_t, std::uint32_t>(w, op, [](std::uint32_t a, std::uint32_t b) {
    if constexpr (Flush) {
      a = KindF32::flush(a);
      b = KindF32::flush(b);
    }
    const auto x = std::bit_cast<float>(a);
    const auto y = std::bit_cast<float>(b);
    auto out = KindF32::put(static_cast<float>(static_cast<double>(x) / static_cast<double>(y)));
    if constexpr (!Full) {
      const std::uint32_t reciprocal = KindF32::flush(KindF32::put(1.0F / y));
      if (KindF32::magnitude(reciprocal) == 0) {
        out = KindF32::put(x * std::bit_cast<float>(reciprocal));
      }
    }
    return Flush ? KindF32::flush(out) : out;
  });
}

template <typename F>
void rounded_f64(Warp& w, const Op& op) {
  const RoundingScope scope(static_cast<Rounding>(op.aux & 7U));
  const double* a = reinterpret_cast<const double*>(w.slots<std::uint64_t>(op.a));
  const double* b = reinterpret_cast<const double*>(w.slots<std::uint64_t>(op.b));
  std::uint64_t* d = w.slots<std::uint64_t>(op.dst);
  for_active(w.active, [&](unsigned l) { d[l] = canonical_f64(F::apply(a[l], b[l]), a[l], b[l]); });
}

struct DivF64 {
  static double apply(double a, double b) { return rounded::divide(a, b); }
};
struct RcpF64 {
  static double apply(double a, double) { return rounded::divide(1.0, a); }
};
struct SqrtF64 {
  static double apply(double a, double) { return rounded::sqrt(a); }
};

template <typename F>
Handler approx_f32(bool ftz) {
  return ftz ? special_f32<F, true> : special_f32<F, false>;
}

Handler unary_f32(Opcode opcode, bool approx, bool ftz) {
  switch (opcode) {
    case Opcode::Rcp:
      return approx ? approx_f32<Rcp>(ftz) : rounded_f32<Rcp>;
    case Opcode::Sqrt:
      return approx ? approx_f32<Sqrt>(ftz) : rounded_f32<Sqrt>;
    case Opcode::Rsqrt:
      return approx_f32<Rsqrt>(ftz);
    case Opcode::Ex2:
      return approx_f32<Ex2>(ftz);
    case Opcode::Lg2:
      return approx_f32<Lg2>(ftz);
    case Opcode::Sin:
      return approx_f32<Sin>(ftz);
    case Opcode::Cos:
      return approx_f32<Cos>(ftz);
    case Opcode::Tanh:
      return approx_f32<Tanh>(ftz);
    default:
      return nullptr;
  }
}

Handler unary_f64(Opcode opcode, bool approx, bool ftz) {
  if (opcode == Opcode::Rcp) return approx ? special_f64_upper<Rcp> : rounded_f64<RcpF64>;
  if (opcode == Opcode::Sqrt) return rounded_f64<SqrtF64>;
  if (opcode == Opcode::Rsqrt) return ftz ? special_f64_upper<Rsqrt> : special_f64<Rsqrt>;
  return nullptr;
}

Handler division(Type type, bool approx, bool full, bool ftz) {
  if (type == Type::F64) return rounded_f64<DivF64>;
  if (full) return ftz ? divide_approx<true, true> : divide_approx<false, true>;
  if (approx) return ftz ? divide_approx<true, false> : divide_approx<false, false>;
  return divide_f32;
}

}  // namespace

bool lower_special(Lowering& lowering, const ptx::Instruction& instruction) {
  if (instruction.types.empty()) return false;
  const Type type = instruction.types[0];
  if (type != Type::F32 && type != Type::F64) return lower_half(lowering, instruction);
  const bool ftz = instruction.has(Modifier::Ftz);
  const bool approx = instruction.has(Modifier::Approx);
  const bool is_division = instruction.opcode == Opcode::Div;
  Handler handler = nullptr;
  if (is_division) {
    handler = division(type, approx, instruction.has(Modifier::Full), ftz);
  } else {
    handler = type == Type::F32 ? unary_f32(instruction.opcode, approx, ftz)
                                : unary_f64(instruction.opcode, approx, ftz);
  }
  if (handler == nullptr || instruction.operands.size() != (is_division ? 3U : 2U)) return false;
  const Ref a = lowering.source(instruction.operands[1], type);
  const Ref b = is_division ? lowering.source(instruction.operands[2], type) : a;
  Op& op = lowering.emit(handler, type == Type::F64 ? CostClass::Double : CostClass::Special);
  op.dst = lowering.destination(instruction.operands[0], type);
  op.a = a;
  op.b = b;
  op.aux = static_cast<std::uint32_t>(rounding_of(instruction)) | (ftz ? Ftz : 0U);
  return true;
}

}  // namespace cuco::vgpu
