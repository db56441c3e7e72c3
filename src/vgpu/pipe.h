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
  Pipe(unsigned shift, std::uint32_t buckets) : shift_(shift), used_(buckets, 0) {}

  /// Takes `cost` ps of the pipe from `when` on; returns when that work is done.
  VTime reserve(VTime when, VTime cost) {
    const auto size = static_cast<std::int64_t>(used_.size());
    std::int64_t bucket = std::max(when >> shift_, first_free_);
    const VTime width = VTime{1} << shift_;
    const VTime earliest = when + cost;
    while (true) {
      if (bucket >= base_ + size) advance(bucket - size / 2);
      std::uint32_t& used = used_[static_cast<std::uint64_t>(bucket) & (used_.size() - 1)];
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
  void advance(std::int64_t base) {
    const auto size = static_cast<std::int64_t>(used_.size());
    const std::int64_t stop = std::min(base, base_ + size);
    for (std::int64_t b = base_; b < stop; ++b) {
      used_[static_cast<std::uint64_t>(b) & (used_.size() - 1)] = 0;
    }
    base_ = base;
    first_free_ = std::max(first_free_, base);
  }

  unsigned shift_;
  std::int64_t base_ = 0;
  std::int64_t first_free_ = 0;  ///< Every bucket before it is full or forgotten.
  std::vector<std::uint32_t> used_;
};

}  // namespace cuco::vgpu
