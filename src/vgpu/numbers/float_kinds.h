// SPDX-License-Identifier: Apache-2.0
/// \file
/// f16, bf16, f32 and f64 as types that templates of handlers take: how to read one as a double
/// and what PTX's .ftz, .sat, .relu and .satfinite do to its bits.
#pragma once

#include <cmath>
#include <cstdint>

#include "vgpu/numbers/formats.h"

namespace cuco::vgpu {

template <typename BitsType, const Format& F, BitsType Nan>
struct FloatKind {
  using Bits = BitsType;
  static constexpr Format kFormat = F;
  static constexpr Bits kNan = Nan;
  static constexpr Bits kSign = static_cast<Bits>(F.sign());
  static constexpr Bits kInfinity = static_cast<Bits>(F.infinity());
  static constexpr Bits kOne =
      static_cast<Bits>(static_cast<std::uint64_t>(F.bias()) << F.mantissa);

  static constexpr Bits magnitude(Bits bits) { return static_cast<Bits>(bits & ~kSign); }
  static constexpr bool is_nan(Bits bits) { return magnitude(bits) > kInfinity; }
  static constexpr bool is_negative(Bits bits) { return (bits & kSign) != 0; }
  /// .ftz: subnormal numbers become zeros of their sign.
  static constexpr Bits flush(Bits bits) {
    return magnitude(bits) < (Bits{1} << F.mantissa) ? static_cast<Bits>(bits & kSign) : bits;
  }
  /// .sat: [0, 1]; NaN and -0 become 0.
  static constexpr Bits saturate(Bits bits) {
    if (is_nan(bits) || is_negative(bits)) return 0;
    return bits > kOne ? kOne : bits;
  }
  /// .relu: negative numbers become 0.
  static constexpr Bits relu(Bits bits) {
    if (is_nan(bits)) return kNan;
    return is_negative(bits) ? Bits{0} : bits;
  }
  /// .satfinite: infinities become the largest number.
  static constexpr Bits clip(Bits bits) {
    return magnitude(bits) == kInfinity ? static_cast<Bits>(bits - 1) : bits;
  }
};

struct KindF16 : FloatKind<std::uint16_t, kF16, kNanHalf> {
  static double get(Bits bits) { return static_cast<double>(from_f16(bits)); }
};
struct KindBf16 : FloatKind<std::uint16_t, kBf16, kNanHalf> {
  static double get(Bits bits) { return static_cast<double>(from_bf16(bits)); }
};
struct KindF32 : FloatKind<std::uint32_t, kF32, kNanF32> {
  static double get(Bits bits) { return static_cast<double>(std::bit_cast<float>(bits)); }
  static Bits put(float value) { return value != value ? kNan : std::bit_cast<Bits>(value); }
};
struct KindF64 : FloatKind<std::uint64_t, kF64, 0xFFF8'0000'0000'0000U> {
  static double get(Bits bits) { return std::bit_cast<double>(bits); }
};

/// .rni .rzi .rmi .rpi
[[nodiscard]] inline double round_integral(double value, Rounding mode) {
  switch (mode) {
    case Rounding::Zero:
      return std::trunc(value);
    case Rounding::Down:
      return std::floor(value);
    case Rounding::Up:
      return std::ceil(value);
    default:
      return std::rint(value);
  }
}

}  // namespace cuco::vgpu
