// SPDX-License-Identifier: Apache-2.0
// cvt to and from packed and special formats: f16x2, bf16x2, tf32, e4m3x2, e5m2x2, cvt.pack.
#include <algorithm>
#include <limits>

#include "vgpu/exec/exec.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/numbers/float_kinds.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Type;

enum AuxBit : std::uint32_t { Relu = 8, SatFinite = 16 };

constexpr Rounding rounding_of(std::uint32_t aux) {
  return static_cast<Rounding>(aux & 7U);
}

/// d = {a (upper), b (lower)}, each narrowed to a half.
template <typename Kind>
void pack_halves(Warp& w, const Op& op) {
  const std::uint32_t aux = op.aux;
  const auto one = [&](float value) {
    auto bits = static_cast<std::uint16_t>(
        narrow(static_cast<double>(value), Kind::kFormat, rounding_of(aux), Kind::kNan));
    if ((aux & Relu) != 0) bits = Kind::relu(bits);
    if ((aux & SatFinite) != 0) bits = Kind::clip(bits);
    return static_cast<std::uint32_t>(bits);
  };
  map2<std::uint32_t, float, float>(w, op,
                                    [&](float a, float b) { return one(a) << 16U | one(b); });
}

struct PackF16 {
  std::uint32_t operator()(float a, float b) const {
    return static_cast<std::uint32_t>(to_f16(a)) << 16U | to_f16(b);
  }
};
struct PackBf16 {
  std::uint32_t operator()(float a, float b) const {
    return static_cast<std::uint32_t>(to_bf16(a)) << 16U | to_bf16(b);
  }
};

/// The upper 19 bits of an f32. .rna works on the bits and leaves NaNs as they are, even where
/// .satfinite takes one unit off whatever is not finite.
void to_tf32(Warp& w, const Op& op) {
  constexpr std::uint32_t kUnit = std::uint32_t{1} << 13U;
  const std::uint32_t aux = op.aux;
  const Rounding mode = rounding_of(aux);
  map1<std::uint32_t, std::uint32_t>(w, op, [&](std::uint32_t a) -> std::uint32_t {
    const bool special = KindF32::magnitude(a) >= KindF32::kInfinity;
    std::uint32_t bits = a & ~(kUnit - 1);
    if (mode == Rounding::NearestAway) {
      if (!special) bits = (a + kUnit / 2) & ~(kUnit - 1);
      if ((aux & SatFinite) != 0 && KindF32::magnitude(bits) >= KindF32::kInfinity) bits -= kUnit;
      return bits;
    }
    if (KindF32::is_nan(a)) return kNanF32 & ~(kUnit - 1);
    if (!special) {
      bits = static_cast<std::uint32_t>(narrow(KindF32::get(a), kTf32, mode, 0)) << 13U;
    }
    return (aux & Relu) != 0 ? KindF32::relu(bits) : bits;
  });
}

// ---- fp8

/// .satfinite is mandatory here: beyond the largest number there is only the largest number.
template <const Format& F>
std::uint32_t to_fp8(double value, bool relu) {
  constexpr std::uint32_t kNan = 0x7F;
  if (value != value) return kNan;
  if (relu && value <= 0) return 0;
  const auto bits = static_cast<std::uint32_t>(narrow(value, F, Rounding::Nearest, kNan));
  const std::uint32_t sign = bits & 0x80U;
  return sign | std::min<std::uint32_t>(bits & 0x7FU, static_cast<std::uint32_t>(F.infinity() - 1));
}

template <const Format& F>
std::uint16_t from_fp8(std::uint32_t bits, bool relu) {
  const std::uint32_t magnitude = bits & 0x7FU;
  if (magnitude > F.infinity() || (!F.has_infinity && magnitude == F.infinity())) return kNanHalf;
  if (relu && (bits & 0x80U) != 0) return 0;
  const auto sign = static_cast<std::uint16_t>((bits & 0x80U) << 8U);
  if (magnitude == F.infinity()) return static_cast<std::uint16_t>(sign | kF16.infinity());
  return static_cast<std::uint16_t>(encode(decode(bits, F), kF16, Rounding::Nearest));
}

template <const Format& F>
void fp8_from_f32(Warp& w, const Op& op) {
  const bool relu = (op.aux & Relu) != 0;
  map2<std::uint16_t, float, float>(w, op, [&](float a, float b) {
    return static_cast<std::uint16_t>(to_fp8<F>(static_cast<double>(a), relu) << 8U |
                                      to_fp8<F>(static_cast<double>(b), relu));
  });
}

template <const Format& F>
void fp8_from_f16x2(Warp& w, const Op& op) {
  const bool relu = (op.aux & Relu) != 0;
  map1<std::uint16_t, std::uint32_t>(w, op, [&](std::uint32_t a) {
    const double high = KindF16::get(static_cast<std::uint16_t>(a >> 16U));
    const double low = KindF16::get(static_cast<std::uint16_t>(a));
    return static_cast<std::uint16_t>(to_fp8<F>(high, relu) << 8U | to_fp8<F>(low, relu));
  });
}

template <const Format& F>
void f16x2_from_fp8(Warp& w, const Op& op) {
  const bool relu = (op.aux & Relu) != 0;
  map1<std::uint32_t, std::uint16_t>(w, op, [&](std::uint16_t a) {
    return static_cast<std::uint32_t>(from_fp8<F>(a >> 8U, relu)) << 16U |
           from_fp8<F>(a & 0xFFU, relu);
  });
}

// ---- cvt.pack.sat

template <typename D, unsigned Shift>
void pack_integers(Warp& w, const Op& op) {
  const auto clamp = [](std::int32_t value) {
    const std::int32_t low = std::numeric_limits<D>::min();
    const std::int32_t high = std::numeric_limits<D>::max();
    using Unsigned = std::make_unsigned_t<D>;
    return static_cast<std::uint32_t>(
        static_cast<Unsigned>(static_cast<D>(std::clamp(value, low, high))));
  };
  map3<std::uint32_t, std::int32_t, std::int32_t, std::uint32_t>(
      w, op, [&](std::int32_t a, std::int32_t b, std::uint32_t c) {
        const std::uint32_t pair = clamp(a) << Shift | clamp(b);
        return Shift == 16 ? pair : c << 16U | pair;
      });
}

bool lower_pack(Lowering& lowering, const ptx::Instruction& instruction) {
  Handler handler = nullptr;
  switch (instruction.types[0]) {
    case Type::U16:
      handler = pack_integers<std::uint16_t, 16>;
      break;
    case Type::S16:
      handler = pack_integers<std::int16_t, 16>;
      break;
    case Type::U8:
      handler = pack_integers<std::uint8_t, 8>;
      break;
    case Type::S8:
      handler = pack_integers<std::int8_t, 8>;
      break;
    default:
      return false;
  }
  const auto& operands = instruction.operands;
  const Ref a = lowering.source(operands[1], Type::S32);
  const Ref b = lowering.source(operands[2], Type::S32);
  const Ref c = operands.size() > 3 ? lowering.source(operands[3], Type::B32) : a;
  Op& op = lowering.emit(handler, CostClass::Convert);
  op.dst = lowering.destination(operands[0], Type::B32);
  op.a = a;
  op.b = b;
  op.c = c;
  return true;
}

struct Choice {
  Handler handler = nullptr;
  bool two_sources = false;
};

Choice choose(Type to, Type from, std::uint32_t aux) {
  if (from == Type::F32) {
    const bool plain = aux == 0;
    if (to == Type::F16x2) {
      return {plain ? lane_map2<std::uint32_t, float, float, PackF16> : pack_halves<KindF16>, true};
    }
    if (to == Type::Bf16x2) {
      return {plain ? lane_map2<std::uint32_t, float, float, PackBf16> : pack_halves<KindBf16>,
              true};
    }
    if (to == Type::Tf32) return {to_tf32, false};
    if (to == Type::E4m3x2) return {fp8_from_f32<kE4m3>, true};
    if (to == Type::E5m2x2) return {fp8_from_f32<kE5m2>, true};
  }
  if (from == Type::F16x2 && to == Type::E4m3x2) return {fp8_from_f16x2<kE4m3>, false};
  if (from == Type::F16x2 && to == Type::E5m2x2) return {fp8_from_f16x2<kE5m2>, false};
  if (to == Type::F16x2 && from == Type::E4m3x2) return {f16x2_from_fp8<kE4m3>, false};
  if (to == Type::F16x2 && from == Type::E5m2x2) return {f16x2_from_fp8<kE5m2>, false};
  return {};
}

}  // namespace

bool lower_convert_packed(Lowering& lowering, const ptx::Instruction& instruction) {
  if (instruction.types.size() < 2 || instruction.operands.size() < 2) return false;
  if (instruction.has(Modifier::Pack)) {
    return instruction.operands.size() >= 3 && lower_pack(lowering, instruction);
  }
  std::uint32_t aux = 0;
  if (instruction.has(Modifier::Rz)) aux = static_cast<std::uint32_t>(Rounding::Zero);
  if (instruction.has(Modifier::Rna)) aux = static_cast<std::uint32_t>(Rounding::NearestAway);
  if (instruction.has(Modifier::Rs)) return false;
  if (instruction.has(Modifier::Relu)) aux |= Relu;
  if (instruction.has(Modifier::Satfinite)) aux |= SatFinite;
  const Type to = instruction.types[0];
  const Type from = instruction.types[1];
  const auto [handler, two_sources] = choose(to, from, aux);
  if (handler == nullptr || instruction.operands.size() != (two_sources ? 3U : 2U)) return false;
  const Ref a = lowering.source(instruction.operands[1], from);
  const Ref b = two_sources ? lowering.source(instruction.operands[2], from) : kNoRef;
  Op& op = lowering.emit(handler, CostClass::Convert);
  op.dst = lowering.destination(instruction.operands[0], to);
  op.a = a;
  op.b = b;
  op.aux = aux;
  return true;
}

}  // namespace cuco::vgpu
