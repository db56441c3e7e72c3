// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the 32 addresses of an access have in common, found with a few vector compares.
#pragma once

#include <cstdint>

#include "vgpu/warp.h"

namespace cuco::vgpu {

/// Of register addresses, before the op's constant offset is added.
template <typename T>
inline Pattern classify(const T* a, T stride) {
  T off_row = 0;
  T off_same = 0;
  const T first = a[0];
  for (unsigned l = 0; l < kLanes; ++l) {
    const T distance = a[l] - first;
    off_same |= distance;
    off_row |= distance ^ static_cast<T>(l * stride);
  }
  if (off_row == 0) return Pattern::Consecutive;
  return off_same == 0 ? Pattern::Same : Pattern::Other;
}

/// Unrolled loops go through memory with one register and many offsets: the pattern is looked at
/// once per value of the register. Keys tell values apart within a basic block, the epoch from one
/// pass through it to the next.
template <typename T>
[[gnu::always_inline]] inline Pattern known_pattern(Warp& w, const Op& op, const T* a, T stride) {
  KnownPattern& known = w.patterns[op.pattern_key & 15U];
  if (op.pattern_key != 0 && known.key == op.pattern_key && known.epoch == w.epoch &&
      known.stride == static_cast<std::uint8_t>(stride)) {
    return known.pattern;
  }
  const Pattern pattern = classify<T>(a, stride);
  known = {w.epoch, op.pattern_key, static_cast<std::uint8_t>(stride), pattern};
  return pattern;
}

}  // namespace cuco::vgpu
