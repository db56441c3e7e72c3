// SPDX-License-Identifier: Apache-2.0
/// \file
/// Accumulators of mma.sync between registers and row-major matrices of 16 x 8, and fp8 to f16.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "vgpu/exec/exec.h"
#include "vgpu/numbers/formats.h"

namespace cuco::vgpu {

/// Registers 0 and 1 hold columns 2t and 2t + 1 of rows 0..7 (lane 4r + t), 2 and 3 of rows 8..15.
inline void load_accumulator(const std::uint32_t* const* registers, float* c) {
  for (unsigned block = 0; block < 2; ++block) {
    const std::uint32_t* even = registers[2 * block];
    const std::uint32_t* odd = registers[2 * block + 1];
    for (unsigned l = 0; l < kLanes; ++l) {
      c[64 * block + 2 * l] = std::bit_cast<float>(even[l]);
      c[64 * block + 2 * l + 1] = std::bit_cast<float>(odd[l]);
    }
  }
}

inline void store_accumulator(const Warp& w, const Ref* to, const float* d) {
  for (unsigned i = 0; i < 4; ++i) {
    const float* from = d + 64 * (i / 2) + i % 2;
    detail::store_lanes<std::uint32_t>(w.slots<std::uint32_t>(to[i]), w.active, [&](unsigned l) {
      return std::bit_cast<std::uint32_t>(from[2 * l]);
    });
  }
}

/// Pairs: register 0 holds columns 2t and 2t + 1 of rows 0..7, register 1 of rows 8..15.
inline void load_accumulator_f16(const std::uint32_t* const* registers, float* c) {
  for (unsigned block = 0; block < 2; ++block) {
    std::array<std::uint16_t, 64> halves;
    std::memcpy(halves.data(), registers[block], sizeof(halves));
    for (unsigned i = 0; i < halves.size(); ++i)
      c[64 * block + i] = from_f16(halves[i]);
  }
}

inline void store_accumulator_f16(const Warp& w, const Ref* to, const float* d) {
  for (unsigned block = 0; block < 2; ++block) {
    const float* from = d + 64 * block;
    detail::store_lanes<std::uint32_t>(
        w.slots<std::uint32_t>(to[block]), w.active, [&](unsigned l) {
          return static_cast<std::uint32_t>(to_f16(from[2 * l + 1])) << 16U | to_f16(from[2 * l]);
        });
  }
}

/// e4m3 (Exponent = 4) or e5m2 (5) to f16, always exact.
template <unsigned Exponent>
[[nodiscard]] std::uint16_t fp8_to_f16(std::uint8_t bits) {
  constexpr Format kFormat = Exponent == 4 ? kE4m3 : kE5m2;
  const unsigned magnitude = bits & 0x7FU;
  if constexpr (Exponent == 5) return static_cast<std::uint16_t>(bits << 8U);
  if (magnitude == 0x7F) return kNanHalf;
  return static_cast<std::uint16_t>(encode(decode(bits, kFormat), kF16, Rounding::Nearest));
}

}  // namespace cuco::vgpu
