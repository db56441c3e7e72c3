// SPDX-License-Identifier: Apache-2.0
/// \file
/// A shared resource in virtual time: issue slots of an SM, L2 and HBM bandwidth.
///
/// Warps run ahead of each other by up to a quantum, so requests do not come in time order. The
/// pipe therefore keeps how busy each short bucket of time is, instead of one "free at" clock:
/// a late caller with an early clock still finds the capacity that nobody used.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "vgpu/timing/time.h"

namespace cuco::vgpu {

/// Buckets of 2^Shift ps, `Buckets` (a power of two) of them remembered.
template <unsigned Shift, std::uint32_t Buckets>
class Pipe {
 public:
  /// Takes `cost` ps of the pipe from `when` on; returns when that work is done.
  [[gnu::always_inline]] VTime reserve(VTime when, VTime cost) {
    const std::int64_t bucket = std::max(when >> Shift, first_free_);
    std::uint32_t& used = used_[static_cast<std::uint64_t>(bucket) % Buckets];
    if (bucket >= end_ || cost >= kWidth - VTime{used}) [[unlikely]] {
      return spread(bucket, when, cost);
    }
    used += static_cast<std::uint32_t>(cost);
    return std::max(when + cost, (bucket << Shift) + used);
  }

  /// How much of the pipe was taken in the four buckets before `when`, in 256ths.
  [[nodiscard]] unsigned load(VTime when) const {
    const std::int64_t last = when >> Shift;
    std::uint32_t taken = 0;
    for (std::int64_t bucket = std::max<std::int64_t>(last - 4, 0); bucket < last; ++bucket) {
      if (bucket < end_ - Buckets || bucket >= end_) continue;
      const std::uint32_t used = used_[static_cast<std::uint64_t>(bucket) % Buckets];
      taken += std::min(used, static_cast<std::uint32_t>(kWidth));
    }
    return taken >> (Shift - 6);
  }

 private:
  static constexpr VTime kWidth = VTime{1} << Shift;

  /// Over several buckets, or beyond those remembered.
  [[gnu::noinline]] VTime spread(std::int64_t bucket, VTime when, VTime cost) {
    const VTime earliest = when + cost;
    const std::int64_t first = bucket;
    while (true) {
      if (bucket >= end_) advance(bucket);
      std::uint32_t& used = used_[static_cast<std::uint64_t>(bucket) % Buckets];
      const VTime room = kWidth - VTime{used};
      if (room <= 0) {
        if (bucket == first_free_) ++first_free_;
        bucket += std::max<VTime>(-room, 1);
      } else if (cost < room) {
        used += static_cast<std::uint32_t>(cost);
        if (bucket != first) shorten(first, bucket);
        return std::max(earliest, (bucket << Shift) + used);
      } else {
        used = static_cast<std::uint32_t>(kWidth);
        cost -= room;
      }
    }
  }

  /// Whoever comes to the full bucket next finds the way to one with room at once.
  void shorten(std::int64_t full, std::int64_t next) {
    std::uint32_t& used = used_[static_cast<std::uint64_t>(full) % Buckets];
    if (next - full < Buckets && used >= kWidth) {
      used = static_cast<std::uint32_t>(kWidth + (next - full));
    }
  }

  /// Forgets the oldest buckets, so that `bucket` is in the middle of those remembered.
  [[gnu::noinline, gnu::cold]] void advance(std::int64_t bucket) {
    constexpr std::int64_t kSize = Buckets;
    const std::int64_t base = bucket - kSize / 2;
    const std::int64_t stop = std::min(base, end_);
    for (std::int64_t b = end_ - kSize; b < stop; ++b)
      used_[static_cast<std::uint64_t>(b) % Buckets] = 0;
    end_ = base + kSize;
    first_free_ = std::max(first_free_, base);
  }

  std::int64_t end_ = Buckets;   ///< Behind the last remembered bucket.
  std::int64_t first_free_ = 0;  ///< Every bucket before it is full or forgotten.
  /// ps; of a full one, more: by so many buckets the next one that may have room is further on.
  std::array<std::uint32_t, Buckets> used_{};
};
using SmPipe = Pipe<17, 128>;
using MemoryPipe = Pipe<16, 2048>;

}  // namespace cuco::vgpu
