// SPDX-License-Identifier: Apache-2.0
// cvt between single integers and floats (PTX ISA 9.7.9.21). Packed forms: exec_convert_packed.cc.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "vgpu/exec/exec.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/numbers/float_kinds.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Type;

enum AuxBit : std::uint32_t { Ftz = 8, Sat = 16, Relu = 32, SatFinite = 64, Integral = 128 };

constexpr Rounding rounding_of(std::uint32_t aux) {
  return static_cast<Rounding>(aux & 7U);
}

// ---- integer to integer

template <typename D, typename S, bool Saturate>
struct IntegerToInteger {
  // Sub-word results fill the 32-bit slot with their sign, as registers wider than D demand.
  using Result =
      std::conditional_t<sizeof(D) == 8,
                         D,
                         std::conditional_t<std::is_signed_v<D>, std::int32_t, std::uint32_t>>;
  Result operator()(S a) const {
    if constexpr (Saturate) {
      if (std::cmp_less(a, std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
      if (std::cmp_greater(a, std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
    }
    return static_cast<D>(a);
  }
};

template <typename D, typename S>
Handler integer_to_integer(bool saturate) {
  using Plain = IntegerToInteger<D, S, false>;
  using Clamped = IntegerToInteger<D, S, true>;
  return saturate ? lane_map1<typename Clamped::Result, S, Clamped>
                  : lane_map1<typename Plain::Result, S, Plain>;
}

// ---- float to integer

/// NaN becomes 0 where both sides are narrow, else the lowest signed number of the width.
template <typename D, typename Source>
constexpr D integer_of_nan() {
  if (sizeof(D) < 8 && !std::is_same_v<Source, KindF64>) return 0;
  return static_cast<D>(std::make_unsigned_t<D>{1} << (8 * sizeof(D) - 1));
}

template <typename D, typename Source>
void float_to_integer(Warp& w, const Op& op) {
  using Result = typename IntegerToInteger<D, D, false>::Result;
  const Rounding mode = rounding_of(op.aux);
  const bool ftz = (op.aux & Ftz) != 0;
  // 2^63 and 2^64 are doubles, 2^63 - 1 is not: hence >= on the upper side.
  constexpr double kLow = static_cast<double>(std::numeric_limits<D>::min());
  constexpr double kHigh =
      2.0 * (static_cast<double>(std::numeric_limits<D>::max() / 2) + (sizeof(D) == 8 ? 0.0 : 1.0));
  map1<Result, typename Source::Bits>(w, op, [&](typename Source::Bits bits) -> Result {
    const double value =
        Source::get(ftz && std::is_same_v<Source, KindF32> ? Source::flush(bits) : bits);
    if (value != value) return integer_of_nan<D, Source>();
    const double whole = round_integral(value, mode);
    if (whole < kLow) return std::numeric_limits<D>::min();
    if (whole >= kHigh) return std::numeric_limits<D>::max();
    return static_cast<D>(whole);
  });
}

// ---- integer to float

template <typename Dest, typename S>
void integer_to_float(Warp& w, const Op& op) {
  const Rounding mode = rounding_of(op.aux);
  const bool saturate = (op.aux & Sat) != 0;
  map1<typename Dest::Bits, S>(w, op, [&](S value) {
    Exact exact_value;
    if constexpr (std::is_signed_v<S>) {
      exact_value.negative = value < 0;
      exact_value.significand =
          value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    } else {
      exact_value.significand = value;
    }
    const auto bits = static_cast<typename Dest::Bits>(encode(exact_value, Dest::kFormat, mode));
    return saturate ? Dest::saturate(bits) : bits;
  });
}

template <typename D, typename S>
struct NativeCast {
  D operator()(S a) const { return static_cast<D>(a); }
};

// ---- float to float

/// What becomes of a NaN: f64 hands its sign and the top of its payload on and takes what it gets;
/// everything else ends in the canonical NaN.
template <typename Dest, typename Source>
typename Dest::Bits convert_nan(typename Source::Bits bits) {
  constexpr bool kFromF64 = std::is_same_v<Source, KindF64>;
  constexpr bool kToF64 = std::is_same_v<Dest, KindF64>;
  if constexpr (!kFromF64 && !kToF64) return Dest::kNan;
  constexpr Format kFrom = Source::kFormat;
  constexpr Format kTo = Dest::kFormat;
  const std::uint64_t payload = bits & ((std::uint64_t{1} << kFrom.mantissa) - 1);
  const std::uint64_t top = kTo.mantissa >= kFrom.mantissa
                                ? payload << (kTo.mantissa - kFrom.mantissa)
                                : payload >> (kFrom.mantissa - kTo.mantissa);
  const std::uint64_t sign = Source::is_negative(bits) ? kTo.sign() : 0;
  const std::uint64_t quiet = std::uint64_t{1} << (kTo.mantissa - 1);
  return static_cast<typename Dest::Bits>(sign | kTo.infinity() | quiet | top);
}

template <typename Dest, typename Source>
void float_to_float(Warp& w, const Op& op) {
  const std::uint32_t aux = op.aux;
  const Rounding mode = rounding_of(aux);
  // .ftz speaks of f32 alone.
  const bool flush_source = (aux & Ftz) != 0 && std::is_same_v<Source, KindF32>;
  const bool flush_result = (aux & Ftz) != 0 && std::is_same_v<Dest, KindF32>;
  map1<typename Dest::Bits, typename Source::Bits>(w, op, [&](typename Source::Bits bits) {
    if (flush_source) bits = Source::is_nan(bits) ? Source::kNan : Source::flush(bits);
    double value = Source::get(bits);
    typename Dest::Bits out = 0;
    if (Source::is_nan(bits)) {
      out = convert_nan<Dest, Source>(bits);
    } else if (std::is_same_v<Dest, Source> && (aux & Integral) == 0) {
      out = static_cast<typename Dest::Bits>(bits);
    } else {
      if ((aux & Integral) != 0) value = round_integral(value, mode);
      out = static_cast<typename Dest::Bits>(narrow(value, Dest::kFormat, mode, Dest::kNan));
    }
    if (flush_result) out = Dest::flush(out);
    if ((aux & Relu) != 0) out = Dest::relu(out);
    if ((aux & SatFinite) != 0) out = Dest::clip(out);
    if ((aux & Sat) != 0) out = Dest::saturate(out);
    return out;
  });
}

struct F16ToF32 {
  std::uint32_t operator()(std::uint16_t a) const { return KindF32::put(from_f16(a)); }
};
struct Bf16ToF32 {
  std::uint32_t operator()(std::uint16_t a) const { return static_cast<std::uint32_t>(a) << 16U; }
};
struct F32ToF16 {
  std::uint16_t operator()(float a) const { return to_f16(a); }
};
struct F32ToBf16 {
  std::uint16_t operator()(float a) const { return to_bf16(a); }
};

// ---- f32 without .ftz, all lanes at once

template <Rounding Mode>
float whole(float a) {
  if constexpr (Mode == Rounding::Zero) return std::trunc(a);
  if constexpr (Mode == Rounding::Down) return std::floor(a);
  if constexpr (Mode == Rounding::Up) return std::ceil(a);
  return std::rint(a);
}

template <Rounding Mode>
struct F32ToWhole {
  std::uint32_t operator()(float a) const { return KindF32::put(whole<Mode>(a)); }
};
struct F32Saturated {
  float operator()(float a) const { return a > 0.0F ? std::min(a, 1.0F) : 0.0F; }
};
template <Rounding Mode>
struct F32ToS32 {
  std::int32_t operator()(float a) const {
    const float value = whole<Mode>(a);
    const std::int32_t inside = static_cast<std::int32_t>(std::abs(value) < 0x1p31F ? value : 0.0F);
    if (value != value) return 0;
    if (value >= 0x1p31F) return std::numeric_limits<std::int32_t>::max();
    return value <= -0x1p31F ? std::numeric_limits<std::int32_t>::min() : inside;
  }
};
template <Rounding Mode>
struct F32ToU32 {
  std::uint32_t operator()(float a) const {
    const float value = whole<Mode>(a);
    // By halves: the processor converts signed numbers only.
    const bool upper = value >= 0x1p31F;
    const float part = upper ? value - 0x1p31F : value;
    const auto inside = static_cast<std::uint32_t>(
        static_cast<std::int32_t>(part > 0.0F && part < 0x1p31F ? part : 0.0F));
    if (!(value > 0.0F)) return 0;
    if (value >= 0x1p32F) return std::numeric_limits<std::uint32_t>::max();
    return upper ? inside | 0x8000'0000U : inside;
  }
};

template <Rounding Mode>
Handler whole_handler(Type to) {
  switch (to) {
    case Type::F32:
      return lane_map1<std::uint32_t, float, F32ToWhole<Mode>>;
    case Type::S32:
      return lane_map1<std::int32_t, float, F32ToS32<Mode>>;
    case Type::U32:
      return lane_map1<std::uint32_t, float, F32ToU32<Mode>>;
    default:
      return nullptr;
  }
}

/// The conversions of f32 that kernels have in their loops; null: this is none.
Handler quick_handler(Type to, Type from, std::uint32_t aux) {
  if (from != Type::F32) return nullptr;
  if (to == Type::F32 && aux == Sat) return lane_map1<float, float, F32Saturated>;
  if ((aux & ~7U) != Integral) return nullptr;
  switch (rounding_of(aux)) {
    case Rounding::Zero:
      return whole_handler<Rounding::Zero>(to);
    case Rounding::Down:
      return whole_handler<Rounding::Down>(to);
    case Rounding::Up:
      return whole_handler<Rounding::Up>(to);
    case Rounding::Nearest:
      return whole_handler<Rounding::Nearest>(to);
    default:
      return nullptr;
  }
}

// ---- choosing the handler

template <typename F>
Handler for_integer(Type type, F&& f) {
  switch (type) {
    case Type::S8:
      return f(std::int8_t{});
    case Type::U8:
      return f(std::uint8_t{});
    case Type::S16:
      return f(std::int16_t{});
    case Type::U16:
      return f(std::uint16_t{});
    case Type::S32:
      return f(std::int32_t{});
    case Type::U32:
      return f(std::uint32_t{});
    case Type::S64:
      return f(std::int64_t{});
    case Type::U64:
      return f(std::uint64_t{});
    default:
      return nullptr;
  }
}

template <typename F>
Handler for_float(Type type, F&& f) {
  switch (type) {
    case Type::F16:
      return f(KindF16{});
    case Type::Bf16:
      return f(KindBf16{});
    case Type::F32:
      return f(KindF32{});
    case Type::F64:
      return f(KindF64{});
    default:
      return nullptr;
  }
}

std::uint32_t aux_of(const ptx::Instruction& instruction) {
  std::uint32_t aux = 0;
  const auto rounding = [&](Rounding mode) {
    aux = (aux & ~7U) | static_cast<std::uint32_t>(mode);
  };
  for (const Modifier modifier : instruction.modifiers) {
    switch (modifier) {
      case Modifier::Rni:
        aux |= Integral;
        break;
      case Modifier::Rz:
        rounding(Rounding::Zero);
        break;
      case Modifier::Rzi:
        aux |= Integral;
        rounding(Rounding::Zero);
        break;
      case Modifier::Rm:
        rounding(Rounding::Down);
        break;
      case Modifier::Rmi:
        aux |= Integral;
        rounding(Rounding::Down);
        break;
      case Modifier::Rp:
        rounding(Rounding::Up);
        break;
      case Modifier::Rpi:
        aux |= Integral;
        rounding(Rounding::Up);
        break;
      case Modifier::Ftz:
        aux |= Ftz;
        break;
      case Modifier::Sat:
        aux |= Sat;
        break;
      case Modifier::Relu:
        aux |= Relu;
        break;
      case Modifier::Satfinite:
        aux |= SatFinite;
        break;
      default:
        break;
    }
  }
  return aux;
}

bool is_float(Type type) {
  return type == Type::F16 || type == Type::Bf16 || type == Type::F32 || type == Type::F64;
}

/// The conversions that real code is full of, with nothing but the default rounding.
Handler plain_handler(Type to, Type from) {
  if (to == Type::F32 && from == Type::F16)
    return lane_map1<std::uint32_t, std::uint16_t, F16ToF32>;
  if (to == Type::F32 && from == Type::Bf16)
    return lane_map1<std::uint32_t, std::uint16_t, Bf16ToF32>;
  if (to == Type::F16 && from == Type::F32) return lane_map1<std::uint16_t, float, F32ToF16>;
  if (to == Type::Bf16 && from == Type::F32) return lane_map1<std::uint16_t, float, F32ToBf16>;
  if (to == Type::F32 || to == Type::F64) {
    return for_integer(from, [&]<typename S>(S) -> Handler {
      return to == Type::F32 ? lane_map1<float, S, NativeCast<float, S>>
                             : lane_map1<double, S, NativeCast<double, S>>;
    });
  }
  return nullptr;
}

Handler choose(Type to, Type from, std::uint32_t aux) {
  if (aux == 0) {
    if (const Handler plain = plain_handler(to, from)) return plain;
  }
  if (const Handler quick = quick_handler(to, from, aux)) return quick;
  if (!is_float(to) && !is_float(from)) {
    return for_integer(to, [&]<typename D>(D) {
      return for_integer(from,
                         [&]<typename S>(S) { return integer_to_integer<D, S>((aux & Sat) != 0); });
    });
  }
  if (!is_float(to)) {
    return for_integer(to, [&]<typename D>(D) {
      return for_float(from, [&]<typename S>(S) -> Handler { return float_to_integer<D, S>; });
    });
  }
  if (!is_float(from)) {
    return for_float(to, [&]<typename D>(D) {
      return for_integer(from, [&]<typename S>(S) -> Handler { return integer_to_float<D, S>; });
    });
  }
  return for_float(to, [&]<typename D>(D) {
    return for_float(from, [&]<typename S>(S) -> Handler { return float_to_float<D, S>; });
  });
}

/// A source in a 64-bit register of which only the low half counts, or a result that must fill one.
template <typename D, typename S>
void copy_lanes(Warp& w, const Op& op) {
  map1<D, S>(w, op, [](S a) { return static_cast<D>(a); });
}

}  // namespace

bool lower_convert(Lowering& lowering, const ptx::Instruction& instruction) {
  if (instruction.types.size() != 2 || instruction.operands.size() != 2) {
    return lower_convert_packed(lowering, instruction);
  }
  const Type to = instruction.types[0];
  const Type from = instruction.types[1];
  const std::uint32_t aux = aux_of(instruction);
  const Handler handler = choose(to, from, aux);
  if (handler == nullptr) return lower_convert_packed(lowering, instruction);
  const ptx::Operand& target = instruction.operands[0];
  const ptx::Operand& origin = instruction.operands[1];
  const bool wide_source = lowering.slot_bytes(origin) == 8 && ptx::size_of(from) < 8;
  const bool wide_target = lowering.slot_bytes(target) == 8 && ptx::size_of(to) < 8;
  Ref a = lowering.source(origin, wide_source ? Type::B64 : from);
  if (wide_source) {
    const Ref low = lowering.temporary(4);
    Op& cut = lowering.emit(copy_lanes<std::uint32_t, std::uint64_t>, CostClass::Move);
    cut.a = a;
    cut.dst = low;
    a = low;
  }
  const Ref dst = lowering.destination(target, wide_target ? Type::B64 : to);
  const Ref result = wide_target ? lowering.temporary(4) : dst;
  Op& op = lowering.emit(handler, CostClass::Convert);
  op.dst = result;
  op.a = a;
  op.aux = aux;
  if (wide_target) {
    const bool is_signed = to == Type::S8 || to == Type::S16 || to == Type::S32;
    Op& extend = lowering.emit(is_signed ? copy_lanes<std::int64_t, std::int32_t>
                                         : copy_lanes<std::uint64_t, std::uint32_t>,
                               CostClass::Move);
    extend.a = result;
    extend.dst = dst;
  }
  return true;
}

}  // namespace cuco::vgpu
