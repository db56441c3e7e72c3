/* SPDX-License-Identifier: Apache-2.0
 *
 * What every oracle needs: secret random values, and elements in the formats that workloads use.
 * Header-only C++20; included by oracle.cpp files only.
 */
#ifndef CUCO_ORACLE_NUMBERS_H
#define CUCO_ORACLE_NUMBERS_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cuco_oracle {

inline std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

/* A stream of values of its own for each (key, owner). */
inline std::uint64_t stream(std::uint64_t key, std::uint64_t owner) {
  return mix(key ^ ((owner + 1) * 0xD1B54A32D192ED03ULL));
}

/* Element i of a stream, uniform in (-1, 1): none is special, none negligible. */
inline float uniform(std::uint64_t stream_key, std::size_t i) {
  const std::uint64_t bits = mix(stream_key + 0x9E3779B97F4A7C15ULL * (i + 1));
  return static_cast<float>(static_cast<double>(bits >> 11U) * 0x1.0p-52 - 1.0);
}

inline std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

/* Elements of fp32 or bf16, read and written as doubles. */
inline double load(const void* bytes, std::size_t i, bool bf16) {
  if (bf16) {
    std::uint16_t half = 0;
    std::memcpy(&half, static_cast<const char*>(bytes) + 2 * i, 2);
    return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16U);
  }
  float x = 0;
  std::memcpy(&x, static_cast<const char*>(bytes) + 4 * i, 4);
  return x;
}

inline void store(void* bytes, std::size_t i, bool bf16, float x) {
  if (bf16) {
    const std::uint16_t half = to_bf16(x);
    std::memcpy(static_cast<char*>(bytes) + 2 * i, &half, 2);
  } else {
    std::memcpy(static_cast<char*>(bytes) + 4 * i, &x, 4);
  }
}

/* Fills a buffer with scale * uniform. */
inline void fill(
    void* bytes, std::size_t n_bytes, bool bf16, std::uint64_t stream_key, float scale) {
  const std::size_t count = n_bytes / (bf16 ? 2 : 4);
  for (std::size_t i = 0; i < count; ++i) {
    store(bytes, i, bf16, scale * uniform(stream_key, i));
  }
}

}  // namespace cuco_oracle

#endif
