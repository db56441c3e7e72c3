// SPDX-License-Identifier: Apache-2.0
/// \file
/// The first time model: what instructions, memory levels and contention cost.
///
/// Straight-line code costs the larger of its dependence chain (one warp alone) and its share of
/// the SM's issue slots, both summed up in advance per op and charged per segment. Memory requests
/// go through L1, L2 and HBM as tag arrays and bandwidth pipes; loads set a scoreboard slot, and
/// the first consumer waits for it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "hardware/gpu_description.h"
#include "vgpu/gpu/gpu.h"
#include "vgpu/lower/code.h"
#include "vgpu/memory/huge_pages.h"
#include "vgpu/timing/pipe.h"
#include "vgpu/timing/time.h"

namespace cuco::vgpu {

/// Tags of a cache of 128-byte lines with 32-byte sectors, set-associative, recently used first.
/// Vector code: see exec_cache.cc.
class CacheTags {
 public:
  CacheTags(std::uint64_t bytes, unsigned ways);
  struct Touched {
    std::uint32_t hit = 0;      ///< Sectors of the line that were present.
    std::uint32_t written = 0;  ///< Dirty sectors that had to leave.
    bool recent = false;        ///< It was among the last two lines of its set that were wanted.
  };
  /// Where a line would be.
  struct Place {
    std::uint64_t hash = 0;
    std::size_t set = 0;  ///< In tags_.
  };
  /// Asks for sectors (4-bit mask) of a line, and makes them present; a store makes them dirty.
  Touched touch(Place place, std::uint32_t sectors, bool store = false);
  /// The line's place, which is fetched into the host's cache: it will be wanted soon.
  [[nodiscard]] Place prefetch(std::uint64_t line) const {
    const Place place = place_of(line);
    __builtin_prefetch(tags_.data() + place.set);
    return place;
  }
  /// Forgets all lines; they must not be dirty.
  void clear() { salt_ += 0x9E37'79B9U; }

  /// Neighbouring lines go to neighbouring sets, which the host's cache likes; the upper bits are
  /// hashed in, because power-of-two strides must not fall into few sets.
  [[nodiscard]] Place place_of(std::uint64_t line) const {
    const std::uint64_t hash = ((line >> shift_) + 1) * 0x9E37'79B9'7F4A'7C15ULL;
    return {hash, ((line ^ hash >> 40U) & (sets_ - 1)) * stride_};
  }

 private:
  Touched touch_small(std::uint32_t* set, std::uint32_t wanted, std::uint32_t added) const;

  std::uint64_t sets_;
  unsigned ways_;  ///< At most 16.
  unsigned shift_;
  unsigned stride_;         ///< Places of a set: 4, 8 or 16; those beyond `ways_` stay empty.
  std::uint32_t salt_ = 0;  ///< Of fingerprints: with another one nothing is found any more.
  /// fingerprint << 5 | dirty << 4 | sectors; 0: empty.
  std::vector<std::uint32_t, HugePageAllocator<std::uint32_t>> tags_;
};

/// Static costs of a kernel on this GPU, in ps before op i. Only differences mean something.
struct CostTable {
  struct Before {
    std::uint32_t latency = 0;  ///< One warp alone.
    std::uint32_t issue = 0;    ///< Share of the SM's issue slots.
  };
  std::vector<Before> before;  ///< [ops + 1]
};
/// `registers`: those that a thread has; what is live beyond them is spilled.
[[nodiscard]] CostTable make_cost_table(const Kernel& kernel,
                                        const hardware::GpuDescription& gpu,
                                        std::uint32_t registers = 255);

/// What all SMs of a GPU share.
struct Timing {
  explicit Timing(const hardware::GpuDescription& gpu);
  [[nodiscard]] VTime cycles(double count) const {
    return static_cast<VTime>(count * static_cast<double>(cycle));
  }

  VTime cycle;         ///< ps
  bool native_tensor;  ///< See GpuDescription.
  VTime l1_latency, l2_latency, hbm_latency, shared_latency, atomic_latency, barrier_latency;
  std::array<std::uint32_t, 4> fence_cycles;  ///< By Scope.
  VTime remote_latency = 1'000'000;
  /// Time of that many sectors in a pipe.
  using SectorCosts = std::array<VTime, 9>;
  SectorCosts l2_sectors, l2_stored_sectors, hbm_sectors;
  VTime l2_part;      ///< Of a line of which a sector is changed in part, beyond its sectors.
  bool hbm_by_pairs;  ///< HBM gives two sectors at once, wanted or not.
  std::uint32_t schedulers;
  MemoryPipe l2;
  MemoryPipe hbm;
  CacheTags l2_tags;
  RemoteAccess remote;
  /// Atomics on one line come one after the other: its unit, which others may share.
  using AtomicUnit = Pipe<16, 512>;
  VTime atomic_unit, atomic_float_unit, atomic_clash_unit;
  std::vector<AtomicUnit> atomic_units;  ///< 2^kAtomicUnitBits of them.
  static constexpr unsigned kAtomicUnitBits = 10;
};

}  // namespace cuco::vgpu
