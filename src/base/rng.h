// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one source of randomness: seeded, splittable, the same on every machine.
#pragma once

#include <cstdint>

namespace cuco {

/// SplitMix64: one 64-bit state, every seed good, no warm-up.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }

  /// Uniform in [0, bound); bound must not be 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64U);
  }

  /// Uniform in [0, 1), with 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

  /// An independent generator, e.g. one per rank or per candidate.
  [[nodiscard]] Rng split() { return Rng(next() ^ 0xD1B54A32D192ED03ULL); }

 private:
  __extension__ using Wide = unsigned __int128;
  std::uint64_t state_;
};

}  // namespace cuco
