// SPDX-License-Identifier: Apache-2.0
/// \file
/// Floating-point formats narrower than 32 bits, to and from float: binary16, bfloat16, and the
/// 8-bit e4m3 and e5m2, rounded to nearest even. The 8-bit formats saturate, as the GPU's do.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace cuco::nccl_core {

/// How a small format is laid out, and what it does past its largest number.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  ///< e4m3 has none: its top pattern is NaN, the rest of that binade numbers.
  bool saturates;     ///< Overflow gives the largest number instead of infinity.
};

inline constexpr FloatFormat kBinary16{5, 10, true, false};
inline constexpr FloatFormat kE4m3{4, 3, false, true};
inline constexpr FloatFormat kE5m2{5, 2, true, true};

template <FloatFormat Format>
[[nodiscard]] inline float decode_small(std::uint32_t bits) {
  constexpr int kMantissa = Format.mantissa_bits;
  constexpr int kExponentMask = (1 << Format.exponent_bits) - 1;
  constexpr int kBias = kExponentMask >> 1;
  const bool negative = ((bits >> (Format.exponent_bits + kMantissa)) & 1U) != 0;
  const int exponent = static_cast<int>(bits >> kMantissa) & kExponentMask;
  const auto mantissa = static_cast<int>(bits & ((1U << kMantissa) - 1U));
  float magnitude = 0;
  if (exponent == kExponentMask && Format.has_infinity) {
    magnitude = mantissa == 0 ? HUGE_VALF : std::nanf("");
  } else if (exponent == kExponentMask && mantissa == (1 << kMantissa) - 1) {
    magnitude = std::nanf("");
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissa);
  } else {
    magnitude =
        std::ldexp(static_cast<float>(mantissa + (1 << kMantissa)), exponent - kBias - kMantissa);
  }
  return negative ? -magnitude : magnitude;
}

template <FloatFormat Format>
[[nodiscard]] inline std::uint32_t encode_small(float value) {
  constexpr int kMantissa = Format.mantissa_bits;
  constexpr int kExponentMask = (1 << Format.exponent_bits) - 1;
  constexpr int kBias = kExponentMask >> 1;
  constexpr std::uint32_t kTop = static_cast<std::uint32_t>(kExponentMask) << kMantissa;
  constexpr std::uint32_t kNan = kTop | ((1U << kMantissa) - 1U);
  // The largest finite pattern: below infinity, or below e4m3's only NaN.
  constexpr std::uint32_t kLargest = Format.has_infinity ? kTop - 1U : kNan - 1U;
  const std::uint32_t sign = std::signbit(value) ? 1U << (Format.exponent_bits + kMantissa) : 0U;
  if (std::isnan(value)) return sign | kNan;
  const float magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = 0;
  if (std::isfinite(magnitude)) (void)std::frexp(magnitude, &exponent);
  // Quantum of this binade; nearbyint in the default mode rounds to nearest even. A mantissa that
  // rounds up to the next binade carries into the exponent by itself.
  const int scale = std::max(exponent - 1, 1 - kBias) - kMantissa;
  if (!std::isfinite(magnitude) || exponent - 1 > kBias + 1) {
    return sign | (Format.saturates ? kLargest : kTop);
  }
  const auto quanta = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, -scale)));
  const auto binade = static_cast<std::uint32_t>(scale + kMantissa - (1 - kBias));
  const std::uint32_t bits = quanta + (binade << kMantissa);
  if (bits > kLargest) return sign | (Format.saturates ? kLargest : kTop);
  return sign | bits;
}

[[nodiscard]] inline float decode_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

[[nodiscard]] inline std::uint16_t encode_bfloat16(float value) {
  if (std::isnan(value)) return 0x7FFF;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

}  // namespace cuco::nccl_core
