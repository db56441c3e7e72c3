// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the 32 addresses of an access have in common, found with a few vector compares.
#pragma once

#include <cstdint>

#include <immintrin.h>

#include "vgpu/gpu/warp.h"

namespace cuco::vgpu {

namespace detail {

/// Are the 32 values first, first + stride, first + 2 stride, …?
[[gnu::always_inline]] inline bool is_sequence(const std::uint32_t* a, std::uint32_t stride) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i step = _mm256_set1_epi32(static_cast<int>(8 * stride));
  __m256i wanted =
      _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(a[0])),
                       _mm256_mullo_epi32(lane, _mm256_set1_epi32(static_cast<int>(stride))));
  __m256i off = _mm256_setzero_si256();
  for (unsigned l = 0; l < kLanes; l += 8) {
    const __m256i value = _mm256_load_si256(reinterpret_cast<const __m256i*>(a + l));
    off = _mm256_or_si256(off, _mm256_xor_si256(value, wanted));
    wanted = _mm256_add_epi32(wanted, step);
  }
  return _mm256_testz_si256(off, off) != 0;
}
[[gnu::always_inline]] inline bool is_sequence(const std::uint64_t* a, std::uint64_t stride) {
  const auto by = static_cast<std::int64_t>(stride);
  const __m256i step = _mm256_set1_epi64x(4 * by);
  __m256i wanted = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<std::int64_t>(a[0])),
                                    _mm256_setr_epi64x(0, by, 2 * by, 3 * by));
  __m256i off = _mm256_setzero_si256();
  for (unsigned l = 0; l < kLanes; l += 4) {
    const __m256i value = _mm256_load_si256(reinterpret_cast<const __m256i*>(a + l));
    off = _mm256_or_si256(off, _mm256_xor_si256(value, wanted));
    wanted = _mm256_add_epi64(wanted, step);
  }
  return _mm256_testz_si256(off, off) != 0;
}

}  // namespace detail

/// Of register addresses, before the op's constant offset is added.
template <typename T>
[[gnu::always_inline]] inline Pattern classify(const T* a, T stride) {
  if (a[1] != a[0]) {
    return detail::is_sequence(a, stride) ? Pattern::Consecutive : Pattern::Other;
  }
  return detail::is_sequence(a, T{0}) ? Pattern::Same : Pattern::Other;
}

/// Unrolled loops go through memory with one register and many offsets: the pattern is computed
/// once per value of the register. Keys distinguish values within a basic block, the epoch from one
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
