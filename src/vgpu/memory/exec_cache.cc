// SPDX-License-Identifier: Apache-2.0
// Cache tags. A set is one or two vectors of tags, the most recently used first: it is searched
// with a compare, and ordered anew with a shifted load and a blend.
#include <algorithm>
#include <bit>

#include <immintrin.h>

#include "vgpu/timing/timing.h"

namespace cuco::vgpu {

namespace {

constexpr std::size_t kAhead = 2;       ///< Sets to fetch before they are wanted.
constexpr std::uint32_t kState = 0x1F;  ///< Of a tag: dirty and sectors.

/// Which of 8 places hold the line.
unsigned find(__m256i tags, __m256i wanted) {
  const __m256i state = _mm256_set1_epi32(kState);
  const __m256i same = _mm256_cmpeq_epi32(_mm256_andnot_si256(state, tags), wanted);
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(same)));
}

/// Moves the places of the vector up to the `last` of them back by one. What moves in at the front
/// is the caller's business.
__m256i age(__m256i tags, int last) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i before = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
  const __m256i moves = _mm256_cmpgt_epi32(_mm256_set1_epi32(last + 1), lane);
  return _mm256_blendv_epi8(tags, _mm256_permutevar8x32_epi32(tags, before), moves);
}

__m256i with_first(__m256i tags, std::uint32_t first) {
  return _mm256_blend_epi32(tags, _mm256_set1_epi32(static_cast<int>(first)), 1);
}

}  // namespace

CacheTags::CacheTags(std::uint64_t bytes, unsigned ways)
    : sets_(std::bit_floor(std::max<std::uint64_t>(1, bytes / 128 / ways))),
      ways_(static_cast<unsigned>(std::clamp<std::uint64_t>(bytes / 128 / sets_, 1, 16))),
      shift_(static_cast<unsigned>(std::countr_zero(sets_))),
      stride_(ways_ <= 4   ? 4
              : ways_ <= 8 ? 8
                           : 16),
      tags_(sets_ * stride_, 0) {}

/// A set of half a vector, as those of an L1 are.
CacheTags::Touched CacheTags::touch_small(std::uint32_t* set,
                                          std::uint32_t wanted,
                                          std::uint32_t added) const {
  auto* const vector = reinterpret_cast<__m128i*>(set);
  const __m128i tags = _mm_load_si128(vector);
  const __m128i lines = _mm_andnot_si128(_mm_set1_epi32(kState), tags);
  const __m128i same = _mm_cmpeq_epi32(lines, _mm_set1_epi32(static_cast<int>(wanted)));
  const auto places = static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(same)));
  const int way = places != 0 ? std::countr_zero(places) : static_cast<int>(ways_) - 1;
  const std::uint32_t tag = set[way];
  const std::uint32_t fresh = (places != 0 ? tag : wanted) | added;
  const __m128i moves = _mm_cmpgt_epi32(_mm_set1_epi32(way + 1), _mm_setr_epi32(0, 1, 2, 3));
  const __m128i aged = _mm_blendv_epi8(tags, _mm_shuffle_epi32(tags, 0b10'01'00'11), moves);
  _mm_store_si128(vector, _mm_insert_epi32(aged, static_cast<int>(fresh), 0));
  if (places != 0) return {tag & 0xFU, 0, way <= 1};
  return {0, (tag & 0x10U) != 0 ? tag & 0xFU : 0, false};
}

CacheTags::Touched CacheTags::touch(Place place, std::uint32_t sectors, bool store) {
  std::uint32_t* set = tags_.data() + place.set;
  // The next warp mostly asks for the next line.
  __builtin_prefetch(set + kAhead * stride_);
  // 27 bits of a hash stand for the line, which is wrong once in 2^27 lookups.
  const std::uint32_t wanted =
      ((static_cast<std::uint32_t>(place.hash >> 12U) ^ salt_) | 0x20U) & ~kState;
  const std::uint32_t added = sectors | (store ? 0x10U : 0U);
  if ((set[0] & ~kState) == wanted) {
    const std::uint32_t tag = set[0];
    set[0] = tag | added;
    return {tag & 0xFU, 0, true};
  }
  if (stride_ == 4) return touch_small(set, wanted, added);
  auto* const vectors = reinterpret_cast<__m256i*>(set);
  const __m256i pattern = _mm256_set1_epi32(static_cast<int>(wanted));
  const __m256i low = _mm256_load_si256(vectors);
  unsigned places = find(low, pattern);
  if (stride_ > 8) places |= find(_mm256_load_si256(vectors + 1), pattern) << 8U;
  const int way = places != 0 ? std::countr_zero(places) : static_cast<int>(ways_) - 1;
  const std::uint32_t tag = set[way];
  const std::uint32_t fresh = (places != 0 ? tag : wanted) | added;
  if (way >= 8) {
    const __m256i high = _mm256_load_si256(vectors + 1);
    _mm256_store_si256(vectors + 1, with_first(age(high, way - 8), set[7]));
  }
  _mm256_store_si256(vectors, with_first(age(low, way), fresh));
  if (places != 0) return {tag & 0xFU, 0, way <= 1};
  return {0, (tag & 0x10U) != 0 ? tag & 0xFU : 0, false};
}

}  // namespace cuco::vgpu
