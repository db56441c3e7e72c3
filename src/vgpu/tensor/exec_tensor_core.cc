// SPDX-License-Identifier: Apache-2.0
// The sums are done on eight columns at once. A product of two 11-bit significands is exact in f32,
// and scaling by a power of two is exact, so a conversion to integer with truncation is exactly the
// hardware's alignment shift. That holds while nothing overflows or underflows an f32; rows where
// it might (and infinities and NaNs) take the scalar path, which is the definition.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <immintrin.h>

#include "vgpu/numbers/formats.h"
#include "vgpu/tensor/tensor_core.h"

namespace cuco::vgpu {

namespace {

constexpr unsigned kColumns = 8;
/// Below this exponent a cut-off result might be subnormal in f32.
constexpr float kLowestQuick = 0x1p-100F;
constexpr float kHighestQuick = 0x1p100F;

/// 2^exponent of a float's exponent field, 0 for zero.
float power_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits << 1U) == 0) return 0;
  const std::uint32_t field = bits & 0x7F80'0000U;
  return std::bit_cast<float>(field == 0 ? 0x0080'0000U : field);
}

/// One element by the book. c: exact value of the addend; 24-bit or f16 precision alike.
struct Sum {
  std::int64_t significand = 0;  ///< Of 2^unit.
  int unit = 0;
  bool has_nan = false;
  int infinity = 0;  ///< Sign of an infinite sum, 0: finite.
  bool negative_zero = false;
};

int exponent_of(float power) {
  return static_cast<int>(std::bit_cast<std::uint32_t>(power) >> 23U) - 127;
}

/// A float as significand * 2^exponent.
struct Parts {
  std::int64_t significand = 0;
  int exponent = 0;
};
Parts parts_of(float value) {
  const Exact exact_value = decode(std::bit_cast<std::uint32_t>(value), kF32);
  const auto magnitude = static_cast<std::int64_t>(exact_value.significand);
  return {exact_value.negative ? -magnitude : magnitude, exact_value.exponent};
}

std::int64_t align(std::int64_t significand, int exponent, int unit) {
  const int shift = unit - exponent;
  if (shift <= 0) return significand * (std::int64_t{1} << std::min(-shift, 62));
  if (shift > 62) return 0;
  const std::int64_t magnitude = (significand < 0 ? -significand : significand) >> shift;
  return significand < 0 ? -magnitude : magnitude;
}

void note_infinity(Sum& sum, float value) {
  const int sign = value > 0 ? 1 : -1;
  if (sum.infinity != 0 && sum.infinity != sign) sum.has_nan = true;
  sum.infinity = sign;
}

Sum add_up(
    const FactorsA& a, const FactorsB& b, unsigned depth, unsigned row, unsigned column, float c) {
  Sum sum;
  constexpr int kNone = std::numeric_limits<int>::min();
  int highest = c == 0 ? kNone : exponent_of(power_of(c));
  const auto x = [&](unsigned k) { return a.value[row * depth + k]; };
  const auto y = [&](unsigned k) { return b.value[k * kColumns + column]; };
  const auto exponent = [&](unsigned k) {
    return exponent_of(a.power[row * depth + k]) + exponent_of(b.power[k * kColumns + column]);
  };
  const auto is_finite = [](float value) { return value - value == 0; };
  if (c != c) sum.has_nan = true;
  if (!is_finite(c) && c == c) note_infinity(sum, c);
  bool all_negative = c == 0 ? std::signbit(c) : true;
  bool any = c != 0;
  for (unsigned k = 0; k < depth; ++k) {
    const float product_sign = (std::signbit(x(k)) != std::signbit(y(k))) ? -1.0F : 1.0F;
    if (!is_finite(x(k)) || !is_finite(y(k))) {
      if (x(k) != x(k) || y(k) != y(k) || x(k) == 0 || y(k) == 0)
        sum.has_nan = true;
      else
        note_infinity(sum, product_sign);
      continue;
    }
    if (x(k) == 0 || y(k) == 0) {
      all_negative = all_negative && product_sign < 0;
      continue;
    }
    any = true;
    highest = std::max(highest, exponent(k));
  }
  sum.negative_zero = all_negative && !any;
  if (sum.has_nan || sum.infinity != 0 || highest == kNone) return sum;
  sum.unit = highest - kTensorFraction;
  const Parts addend = parts_of(c);
  sum.significand = align(addend.significand, addend.exponent, sum.unit);
  for (unsigned k = 0; k < depth; ++k) {
    const Parts p = parts_of(x(k));
    const Parts q = parts_of(y(k));
    sum.significand += align(p.significand * q.significand, p.exponent + q.exponent, sum.unit);
  }
  return sum;
}

float finish(const Sum& sum, Format format, Rounding mode) {
  if (sum.has_nan) return std::bit_cast<float>(kNanF32);
  if (sum.infinity != 0) {
    return sum.infinity > 0 ? std::numeric_limits<float>::infinity()
                            : -std::numeric_limits<float>::infinity();
  }
  if (sum.significand == 0) return sum.negative_zero ? -0.0F : 0.0F;
  Exact value;
  value.negative = sum.significand < 0;
  value.significand =
      static_cast<std::uint64_t>(sum.significand < 0 ? -sum.significand : sum.significand);
  value.exponent = sum.unit;
  // Too large is infinite, although everything else is cut off towards zero.
  const int leading = sum.unit + 63 - std::countl_zero(value.significand);
  if (mode == Rounding::Zero && leading > format.bias()) {
    return value.negative ? -std::numeric_limits<float>::infinity()
                          : std::numeric_limits<float>::infinity();
  }
  const std::uint64_t bits = encode(value, format, mode);
  if (format.exponent == 5) return from_f16(static_cast<std::uint16_t>(bits));
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

void slow_row(
    const FactorsA& a, const FactorsB& b, unsigned depth, unsigned row, const float* c, float* d) {
  for (unsigned n = 0; n < kColumns; ++n) {
    d[n] = finish(add_up(a, b, depth, row, n, c[n]), kF32, Rounding::Zero);
  }
}

/// Four 32-bit sums and their common unit (as doubles) to f32, towards zero.
__m128 cut_to_f32(__m128i even, __m128i odd, __m128 unit) {
  const __m256d sum = _mm256_add_pd(_mm256_cvtepi32_pd(even), _mm256_cvtepi32_pd(odd));
  const __m256d value = _mm256_mul_pd(sum, _mm256_cvtps_pd(unit));
  const __m256d mask = _mm256_castsi256_pd(_mm256_set1_epi64x(~((std::int64_t{1} << 29) - 1)));
  return _mm256_cvtpd_ps(_mm256_and_pd(value, mask));
}

/// The exponent powers of eight f32 values, 0 where the value is 0.
__m256 powers(__m256 value) {
  const __m256i field = _mm256_set1_epi32(0x7F80'0000);
  const __m256i lowest = _mm256_set1_epi32(0x0080'0000);
  const __m256i e = _mm256_max_epi32(_mm256_and_si256(_mm256_castps_si256(value), field), lowest);
  const __m256 zero = _mm256_cmp_ps(value, _mm256_setzero_ps(), _CMP_EQ_OQ);
  return _mm256_andnot_ps(zero, _mm256_castsi256_ps(e));
}

struct Eight {
  __m256 value;
  __m256 power;
};

__m128i load_128(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
void store_eight(const Eight& eight, float* value, float* power) {
  _mm256_storeu_ps(value, eight.value);
  _mm256_storeu_ps(power, eight.power);
}
Eight eight_bf16(__m128i raw) {
  const __m256 v = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16));
  return {v, powers(v)};
}
Eight eight_f16(__m128i raw) {
  const __m256 v = _mm256_cvtph_ps(raw);
  // Subnormal f16 numbers keep the exponent of the lowest normal one.
  const __m256 zero = _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_EQ_OQ);
  return {v, _mm256_andnot_ps(zero, _mm256_max_ps(powers(v), _mm256_set1_ps(0x1p-14F)))};
}
/// The lower 13 bits of a tf32 operand do not count.
Eight eight_tf32(const std::byte* from) {
  const __m256i raw = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256 v = _mm256_castsi256_ps(_mm256_and_si256(raw, _mm256_set1_epi32(~0x1FFF)));
  return {v, powers(v)};
}

/// 16-bit elements.
void transpose_8x8(const std::byte* from, std::uint16_t* to) {
  __m128i x[8];
  for (unsigned i = 0; i < 8; ++i)
    x[i] = load_128(from + std::size_t{16} * i);
  for (unsigned stage = 0; stage < 3; ++stage) {
    __m128i y[8];
    for (unsigned i = 0; i < 4; ++i) {
      y[2 * i] = _mm_unpacklo_epi16(x[i], x[i + 4]);
      y[2 * i + 1] = _mm_unpackhi_epi16(x[i], x[i + 4]);
    }
    std::memcpy(x, y, sizeof x);
  }
  for (unsigned i = 0; i < 8; ++i) {
    _mm_store_si128(reinterpret_cast<__m128i*>(to + std::size_t{8} * i), x[i]);
  }
}

/// What one row of eight columns needs besides its products.
struct Row {
  __m256 scale;  ///< 2^25 / the largest power
  __m256 unit;   ///< its inverse
};

/// False: some column needs the scalar path.
inline bool prepare(__m256 top, __m256 addend, Row& row) {
  // Nothing but zeros: any scale will do, except that a sum of negative zeros keeps its sign.
  const __m256 nothing = _mm256_cmp_ps(top, _mm256_setzero_ps(), _CMP_EQ_OQ);
  if (_mm256_movemask_ps(_mm256_and_ps(nothing, addend)) != 0) return false;
  top = _mm256_blendv_ps(top, _mm256_set1_ps(1.0F), nothing);
  // Infinite and NaN operands have the highest power, 2^128, which an f32 shows as infinity.
  const __m256 low = _mm256_cmp_ps(top, _mm256_set1_ps(kLowestQuick), _CMP_GE_OQ);
  const __m256 high = _mm256_cmp_ps(top, _mm256_set1_ps(kHighestQuick), _CMP_LE_OQ);
  if (_mm256_movemask_ps(_mm256_and_ps(low, high)) != 0xFF) return false;
  const __m256i field = _mm256_castps_si256(top);
  row.scale = _mm256_castsi256_ps(
      _mm256_sub_epi32(_mm256_set1_epi32((2 * 127 + kTensorFraction) << 23), field));
  row.unit = _mm256_castsi256_ps(_mm256_sub_epi32(field, _mm256_set1_epi32(kTensorFraction << 23)));
  return true;
}

inline void finish_row(__m256i even, __m256i odd, const Row& row, float* d) {
  _mm_storeu_ps(d, cut_to_f32(_mm256_castsi256_si128(even), _mm256_castsi256_si128(odd),
                              _mm256_castps256_ps128(row.unit)));
  _mm_storeu_ps(d + 4,
                cut_to_f32(_mm256_extracti128_si256(even, 1), _mm256_extracti128_si256(odd, 1),
                           _mm256_extractf128_ps(row.unit, 1)));
}

/// Of two numbers that are not negative. NaN (0 x inf) is the largest, as its bits are;
/// _mm256_max_ps() would forget it.
inline __m256 larger(__m256 a, __m256 b) {
  return _mm256_castsi256_ps(_mm256_max_epu32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
}

/// Two rows at once: every number of B is loaded once for both.
template <unsigned Depth>
bool quick_rows(const float* av, const float* ap, const FactorsB& b, const float* c, float* d) {
  const __m256 c0 = _mm256_loadu_ps(c);
  const __m256 c1 = _mm256_loadu_ps(c + kColumns);
  __m256 top0 = powers(c0);
  __m256 top1 = powers(c1);
#pragma GCC unroll 16
  for (unsigned k = 0; k < Depth; ++k) {
    const __m256 power = _mm256_load_ps(b.power.data() + k * kColumns);
    top0 = larger(top0, _mm256_mul_ps(_mm256_broadcast_ss(ap + k), power));
    top1 = larger(top1, _mm256_mul_ps(_mm256_broadcast_ss(ap + Depth + k), power));
  }
  Row row0;
  Row row1;
  if (!prepare(top0, c0, row0) || !prepare(top1, c1, row1)) return false;
  // Sixteen terms below 2^27 could overflow one 32-bit sum: even and odd k are apart.
  __m256i sum[2][2];
  sum[0][0] = _mm256_cvttps_epi32(_mm256_mul_ps(c0, row0.scale));
  sum[1][0] = _mm256_cvttps_epi32(_mm256_mul_ps(c1, row1.scale));
  sum[0][1] = sum[1][1] = _mm256_setzero_si256();
#pragma GCC unroll 16
  for (unsigned k = 0; k < Depth; ++k) {
    const __m256 factor = _mm256_load_ps(b.value.data() + k * kColumns);
    const __m256 p0 = _mm256_mul_ps(_mm256_broadcast_ss(av + k), factor);
    const __m256 p1 = _mm256_mul_ps(_mm256_broadcast_ss(av + Depth + k), factor);
    sum[0][k % 2] =
        _mm256_add_epi32(sum[0][k % 2], _mm256_cvttps_epi32(_mm256_mul_ps(p0, row0.scale)));
    sum[1][k % 2] =
        _mm256_add_epi32(sum[1][k % 2], _mm256_cvttps_epi32(_mm256_mul_ps(p1, row1.scale)));
  }
  finish_row(sum[0][0], sum[0][1], row0, d);
  finish_row(sum[1][0], sum[1][1], row1, d + kColumns);
  return true;
}

template <unsigned Depth>
void rows(const FactorsA& a, const FactorsB& b, const float* c, float* d) {
  for (unsigned row = 0; row < 16; row += 2) {
    const float* av = a.value.data() + row * Depth;
    const float* ap = a.power.data() + row * Depth;
    const unsigned at = row * kColumns;
    if (quick_rows<Depth>(av, ap, b, c + at, d + at)) continue;
    slow_row(a, b, Depth, row, c + at, d + at);
    slow_row(a, b, Depth, row + 1, c + at + kColumns, d + at + kColumns);
  }
}

}  // namespace

void load_factors(
    FactorKind kind, const void* elements, unsigned count, float* value, float* power) {
  const auto* bytes = static_cast<const std::byte*>(elements);
  const std::size_t step = kind == FactorKind::Tf32 ? 32 : 16;
  for (unsigned i = 0; i < count; i += 8) {
    store_eight(kind == FactorKind::Tf32  ? eight_tf32(bytes)
                : kind == FactorKind::F16 ? eight_f16(load_128(bytes))
                                          : eight_bf16(load_128(bytes)),
                value + i, power + i);
    bytes += step;
  }
}

// A register of 16-bit pairs is an 8x8 block, row by row: lane 4r + t holds columns 2t and 2t + 1
// of row r. Of A it is [row][k], of B [column][k]. Registers go down the rows first, then along k.
void load_fragment_a(FactorKind kind, unsigned depth, FragmentRegisters registers, FactorsA& out) {
  for (unsigned r = 0; r < registers.size(); ++r) {
    const auto* bytes = reinterpret_cast<const std::byte*>(registers[r]);
    for (unsigned row = 0; row < 8; ++row) {
      const unsigned line = (8 * (r % 2) + row) * depth;
      if (kind == FactorKind::Tf32) {
        if (r >= 2) continue;  // both halves of k at once
        std::array<std::uint32_t, 8> words{};
        std::memcpy(words.data(), registers[r] + 4 * row, 16);
        if (depth == 8) std::memcpy(words.data() + 4, registers[r + 2] + 4 * row, 16);
        const Eight eight = eight_tf32(reinterpret_cast<const std::byte*>(words.data()));
        if (depth == 8) {
          store_eight(eight, out.value.data() + line, out.power.data() + line);
        } else {
          _mm_storeu_ps(out.value.data() + line, _mm256_castps256_ps128(eight.value));
          _mm_storeu_ps(out.power.data() + line, _mm256_castps256_ps128(eight.power));
        }
        continue;
      }
      const unsigned at = line + 8 * (r / 2);
      const __m128i raw = load_128(bytes + std::size_t{16} * row);
      store_eight(kind == FactorKind::F16 ? eight_f16(raw) : eight_bf16(raw), out.value.data() + at,
                  out.power.data() + at);
    }
  }
}

void load_fragment_b(FactorKind kind, unsigned depth, FragmentRegisters registers, FactorsB& out) {
  alignas(16) std::array<std::uint16_t, 64> block;
  for (unsigned r = 0; r < registers.size(); ++r) {
    if (kind == FactorKind::Tf32) {
      for (unsigned k = 0; k < 4; ++k) {
        std::array<std::uint32_t, 8> words;
        for (unsigned n = 0; n < 8; ++n)
          words[n] = registers[r][4 * n + k];
        const unsigned at = (4 * r + k) * kColumns;
        store_eight(eight_tf32(reinterpret_cast<const std::byte*>(words.data())),
                    out.value.data() + at, out.power.data() + at);
      }
      continue;
    }
    transpose_8x8(reinterpret_cast<const std::byte*>(registers[r]), block.data());
    load_factors(kind, block.data(), 64, out.value.data() + 64 * r, out.power.data() + 64 * r);
  }
  static_cast<void>(depth);
}

void multiply_accumulate(
    const FactorsA& a, const FactorsB& b, unsigned depth, const float* c, float* d) {
  if (depth == 16) {
    rows<16>(a, b, c, d);
  } else if (depth == 8) {
    rows<8>(a, b, c, d);
  } else {
    rows<4>(a, b, c, d);
  }
}

void load_values_a(FactorKind kind, unsigned depth, FragmentRegisters registers, float* out) {
  for (unsigned r = 0; r < registers.size(); ++r) {
    for (unsigned row = 0; row < 8; ++row) {
      float* const line = out + (8 * (r % 2) + row) * depth;
      if (kind == FactorKind::Tf32) {  // a register is four columns
        for (unsigned k = 0; k < 4; ++k)
          line[4 * (r / 2) + k] = std::bit_cast<float>(registers[r][4 * row + k] & ~0x1FFFU);
        continue;
      }
      const __m128i raw = load_128(reinterpret_cast<const std::byte*>(registers[r] + 4 * row));
      _mm256_storeu_ps(line + 8 * (r / 2), kind == FactorKind::F16
                                               ? _mm256_cvtph_ps(raw)
                                               : _mm256_castsi256_ps(_mm256_slli_epi32(
                                                     _mm256_cvtepu16_epi32(raw), 16)));
    }
  }
}

void load_values_b(FactorKind kind, FragmentRegisters registers, float* out) {
  alignas(16) std::array<std::uint16_t, 64> block;
  for (unsigned r = 0; r < registers.size(); ++r) {
    if (kind == FactorKind::Tf32) {
      for (unsigned i = 0; i < 32; ++i)
        out[(4 * r + i % 4) * kColumns + i / 4] = std::bit_cast<float>(registers[r][i] & ~0x1FFFU);
      continue;
    }
    transpose_8x8(reinterpret_cast<const std::byte*>(registers[r]), block.data());
    for (unsigned k = 0; k < 8; ++k) {
      const __m128i raw =
          _mm_load_si128(reinterpret_cast<const __m128i*>(block.data() + std::size_t{8} * k));
      _mm256_storeu_ps(out + (8 * r + k) * kColumns, kind == FactorKind::F16
                                                         ? _mm256_cvtph_ps(raw)
                                                         : _mm256_castsi256_ps(_mm256_slli_epi32(
                                                               _mm256_cvtepu16_epi32(raw), 16)));
    }
  }
}

void multiply_native(const float* a, const float* b, unsigned depth, const float* c, float* d) {
  constexpr unsigned kRows = 8;  // their sums stay in registers
  for (unsigned row = 0; row < 16; row += kRows) {
    __m256 sum[kRows];
    for (unsigned i = 0; i < kRows; ++i)
      sum[i] = _mm256_loadu_ps(c + (row + i) * kColumns);
    for (unsigned k = 0; k < depth; ++k) {
      const __m256 factor = _mm256_loadu_ps(b + k * kColumns);
      for (unsigned i = 0; i < kRows; ++i)
        sum[i] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + (row + i) * depth + k), factor, sum[i]);
    }
    for (unsigned i = 0; i < kRows; ++i)
      _mm256_storeu_ps(d + (row + i) * kColumns, sum[i]);
  }
}

void multiply_accumulate_f16(
    const FactorsA& a, const FactorsB& b, unsigned depth, const float* c, float* d) {
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned n = 0; n < kColumns; ++n) {
      const unsigned at = row * kColumns + n;
      d[at] = finish(add_up(a, b, depth, row, n, c[at]), kF16, Rounding::Nearest);
    }
  }
}

}  // namespace cuco::vgpu
