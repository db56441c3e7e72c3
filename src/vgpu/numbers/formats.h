// SPDX-License-Identifier: Apache-2.0
/// \file
/// The floating-point formats of PTX as bits: decoding, and encoding with one correct rounding.
///
/// Host arithmetic is used where it rounds as the GPU does; everything else goes through `encode`,
/// which rounds an exact significand once. NaNs are the GPU's canonical ones.
#pragma once

#include <bit>
#include <cstdint>

#include <immintrin.h>

namespace cuco::vgpu {

enum class Rounding : std::uint8_t { Nearest, Zero, Down, Up, NearestAway };

struct Format {
  unsigned exponent = 8;
  unsigned mantissa = 23;
  bool has_infinity = true;  ///< Otherwise the all-ones pattern is the only special value, NaN.
  [[nodiscard]] constexpr unsigned bits() const { return 1 + exponent + mantissa; }
  [[nodiscard]] constexpr int bias() const { return (1 << (exponent - 1)) - 1; }
  /// The first pattern beyond the finite ones.
  [[nodiscard]] constexpr std::uint64_t infinity() const {
    return has_infinity ? ((std::uint64_t{1} << exponent) - 1) << mantissa : sign() - 1;
  }
  [[nodiscard]] constexpr std::uint64_t sign() const {
    return std::uint64_t{1} << (exponent + mantissa);
  }
};

inline constexpr Format kF16{5, 10};
inline constexpr Format kBf16{8, 7};
inline constexpr Format kTf32{8, 10};
inline constexpr Format kF32{8, 23};
inline constexpr Format kF64{11, 52};
inline constexpr Format kE5m2{5, 2};
inline constexpr Format kE4m3{4, 3, false};  ///< 0x7F is NaN, 0x7E (448) the largest.

inline constexpr std::uint32_t kNanF32 = 0x7FFF'FFFF;
inline constexpr std::uint16_t kNanHalf = 0x7FFF;  ///< f16 and bf16.

/// An exact value: (-1)^negative * significand * 2^exponent, plus something smaller than one unit
/// of the significand if `sticky`.
struct Exact {
  bool negative = false;
  std::uint64_t significand = 0;
  int exponent = 0;
  bool sticky = false;
};

[[nodiscard]] inline bool rounds_away(
    const Exact& value, bool odd, bool half, bool below, Rounding mode) {
  switch (mode) {
    case Rounding::Nearest:
      return half && (below || odd);
    case Rounding::NearestAway:
      return half;
    case Rounding::Zero:
      return false;
    case Rounding::Down:
      return value.negative && (half || below);
    case Rounding::Up:
      return !value.negative && (half || below);
  }
  return false;
}

/// Rounds to a format with infinities. Overflow follows the rounding mode.
[[nodiscard]] inline std::uint64_t encode(const Exact& value, Format f, Rounding mode) {
  const std::uint64_t sign = value.negative ? f.sign() : 0;
  if (value.significand == 0) {
    const bool away = value.sticky && ((mode == Rounding::Down && value.negative) ||
                                       (mode == Rounding::Up && !value.negative));
    return sign | (away ? 1U : 0U);
  }
  const int width = 64 - std::countl_zero(value.significand);
  // The exponent of the leading bit decides how many bits below it are kept.
  int leading = value.exponent + width - 1;
  const int lowest = 1 - f.bias();  // of normal numbers
  const int unit =
      (leading < lowest ? lowest : leading) - static_cast<int>(f.mantissa);  // last bit kept
  const int drop = unit - value.exponent;
  std::uint64_t kept = 0;
  bool half = false;
  bool below = value.sticky;
  if (drop <= 0) {
    kept = value.significand << static_cast<unsigned>(-drop);
  } else if (drop <= 64) {
    kept = drop == 64 ? 0 : value.significand >> static_cast<unsigned>(drop);
    half = (value.significand >> static_cast<unsigned>(drop - 1) & 1U) != 0;
    below = below ||
            (value.significand & ((std::uint64_t{1} << static_cast<unsigned>(drop - 1)) - 1)) != 0;
  } else {
    below = true;
  }
  if (rounds_away(value, (kept & 1U) != 0, half, below, mode)) ++kept;
  // kept has mantissa + 1 bits for normal numbers; a carry out just moves up the exponent.
  std::uint64_t bits = kept;
  if (leading >= lowest) {
    bits = kept + (static_cast<std::uint64_t>(leading + f.bias() - 1) << f.mantissa);
  }
  if (bits >= f.infinity()) {
    const bool clips = mode == Rounding::Zero || (mode == Rounding::Down && !value.negative) ||
                       (mode == Rounding::Up && value.negative);
    bits = clips ? f.infinity() - 1 : f.infinity();
  }
  return sign | bits;
}

/// The finite value of bits in a format (the caller has dealt with NaN and infinity).
[[nodiscard]] inline Exact decode(std::uint64_t bits, Format f) {
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << f.mantissa) - 1);
  const auto exponent =
      static_cast<int>(bits >> f.mantissa & ((std::uint64_t{1} << f.exponent) - 1));
  Exact out;
  out.negative = (bits & f.sign()) != 0;
  out.significand = exponent == 0 ? mantissa : mantissa | std::uint64_t{1} << f.mantissa;
  out.exponent = (exponent == 0 ? 1 : exponent) - f.bias() - static_cast<int>(f.mantissa);
  return out;
}

[[nodiscard]] inline Exact exact(double value) {
  return decode(std::bit_cast<std::uint64_t>(value), kF64);
}

// ---- widening, always exact
[[nodiscard]] inline float from_f16(std::uint16_t bits) {
  return _cvtsh_ss(bits);
}
[[nodiscard]] inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

// ---- the common narrowings
[[nodiscard]] inline std::uint16_t to_f16(float value) {
  if (value != value) return kNanHalf;
  return static_cast<std::uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}
[[nodiscard]] inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return kNanHalf;
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}

/// Any narrowing of a double, rounded once.
[[nodiscard]] inline std::uint64_t narrow(double value,
                                          Format f,
                                          Rounding mode,
                                          std::uint64_t nan) {
  if (value != value) return nan;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if ((bits & kF64.infinity()) == kF64.infinity()) {
    return (bits >> 63U != 0 ? f.sign() : 0) | f.infinity();
  }
  return encode(exact(value), f, mode);
}

/// a * b + c in double, rounded to odd: one further rounding to f16 or bf16 is then correct. The
/// product must be exact in double.
[[nodiscard]] inline double fma_to_odd(double a, double b, double c) {
  const double product = a * b;
  const double sum = product + c;
  if (!(sum - sum == 0)) return sum;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (c - back);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error != 0 && (bits & 1U) == 0) bits += (error > 0) == (sum > 0) ? 1U : ~std::uint64_t{0};
  return std::bit_cast<double>(bits);
}

}  // namespace cuco::vgpu
