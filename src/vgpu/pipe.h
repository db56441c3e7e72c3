// SPDX-License-Identifier: Apache-2.0
/// \file
/// A shared resource in virtual time: issue slots of an SM, L2 and HBM bandwidth.
///
/// Warps run ahead of each other by up to a quantum, so requests do not come in time order. The
/// pipe therefore keeps how busy each short bucket of time is, instead of one "free at" clock:
/// a late caller with an early clock still finds the capacity that nobody used.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "vgpu/time.h"

namespace cuco::vgpu {

class Pipe {
 public:
  /// Buckets of 2^shift ps, `buckets` (a power of two) of them remembered.
  Pipe(unsigned shift, std::uint32_t buckets)
      : shift_(shift), wrap_(buckets - 1), end_(buckets), used_(buckets, 0) {}

  /// Takes `cost` ps of the pipe from `when` on; returns when that work is done.
  VTime reserve(VTime when, VTime cost) {
    std::int64_t bucket = std::max(when >> shift_, first_free_);
    const VTime width = VTime{1} << shift_;
    const VTime earliest = when + cost;
    while (true) {
      if (bucket >= end_) [[unlikely]]
        advance(bucket);
      std::uint32_t& used = used_[static_cast<std::uint64_t>(bucket) & wrap_];
      const VTime room = width - used;
      if (cost < room) {
        used += static_cast<std::uint32_t>(cost);
        return std::max(earliest, (bucket << shift_) + used);
      }
      used = static_cast<std::uint32_t>(width);
      cost -= room;
      if (bucket == first_free_) ++first_free_;
      ++bucket;
    }
  }

 private:
  /// Forgets the oldest buckets, so that `bucket` is in the middle of those remembered.
  [[gnu::noinline, gnu::cold]] void advance(std::int64_t bucket) {
    const auto size = static_cast<std::int64_t>(wrap_) + 1;
    const std::int64_t base = bucket - size / 2;
    const std::int64_t stop = std::min(base, end_);
    for (std::int64_t b = end_ - size; b < stop; ++b)
      used_[static_cast<std::uint64_t>(b) & wrap_] = 0;
    end_ = base + size;
    first_free_ = std::max(first_free_, base);
  }

  unsigned shift_;
  std::uint64_t wrap_;           ///< Remembered buckets - 1.
  std::int64_t end_;             ///< Behind the last remembered bucket.
  std::int64_t first_free_ = 0;  ///< Every bucket before it is full or forgotten.
  std::vector<std::uint32_t> used_;
};

}  // namespace cuco::vgpu
