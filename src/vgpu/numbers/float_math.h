// SPDX-License-Identifier: Apache-2.0
/// \file
/// IEEE arithmetic as PTX defines it: rounding modes, flush-to-zero, saturation, canonical NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace cuco::vgpu {

/// f32 results that are NaN have one bit pattern (PTX ISA 9.7.3).
inline float canonical(float value) {
  return value == value ? value : std::bit_cast<float>(0x7FFF'FFFFU);
}
inline double canonical(double value) {
  return value;
}

/// Subnormal to zero of the same sign.
inline float flush(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits & 0x7F80'0000U) == 0 ? std::bit_cast<float>(bits & 0x8000'0000U) : value;
}
inline double flush(double value) {
  return value;
}

/// Clamps to [0, 1]; NaN becomes +0.
inline float saturate(float value) {
  const float low = value > 0.0F ? value : 0.0F;  // NaN compares false.
  return low < 1.0F ? low : 1.0F;
}
inline double saturate(double value) {
  const double low = value > 0.0 ? value : 0.0;
  return low < 1.0 ? low : 1.0;
}

}  // namespace cuco::vgpu
