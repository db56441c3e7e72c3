// SPDX-License-Identifier: Apache-2.0
/// \file
/// Races in one block's shared memory: warps against warps, ordered by the block's barriers.
///
/// Every warp counts epochs; at a barrier the warps that met learn each other's. A word remembers
/// its last writer and the readers since. Lanes of one warp count as ordered among themselves.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace cuco::check {

class SharedRaces {
 public:
  static constexpr unsigned kMaxWarps = 32;
  struct Conflict {
    std::uint32_t offset = 0;  ///< Of the word, in bytes.
    unsigned earlier_warp = 0;
    std::uint32_t earlier_site = 0;
    bool earlier_writes = false;
  };
  using Report = std::function<void(const Conflict&)>;

  SharedRaces(std::uint32_t bytes, unsigned warps);

  /// Words [first, first + count) by one warp. Reports at most one conflict per call.
  void read(unsigned warp,
            std::uint32_t first,
            std::uint32_t count,
            std::uint32_t site,
            const Report& report);
  void write(unsigned warp,
             std::uint32_t first,
             std::uint32_t count,
             std::uint32_t site,
             const Report& report);
  /// An atomic orders itself against other atomics, not against plain accesses.
  void atomic(unsigned warp, std::uint32_t word, std::uint32_t site, const Report& report);

  /// The warps of `mask` met: what any of them did is known to all of them.
  void meet(std::uint32_t mask);

 private:
  struct Word {
    std::uint32_t writer = 0;  ///< warp << 27 | epoch; 0: never written.
    std::uint32_t write_site = 0;
    std::uint32_t readers = 0;  ///< Mask of warps that read since the write.
    std::uint32_t read_epoch = 0;
    std::uint32_t read_site = 0;
    std::uint32_t atomic = 0;  ///< Was the last write atomic?
  };
  static constexpr unsigned kEpochBits = 27;
  static constexpr std::uint32_t kEpochMask = (1U << kEpochBits) - 1;
  [[nodiscard]] bool knows(unsigned warp, std::uint32_t stamp) const {
    const unsigned other = stamp >> kEpochBits;
    return other == warp || known_[warp][other] >= (stamp & kEpochMask);
  }
  [[nodiscard]] std::uint32_t unordered_readers(unsigned warp, const Word& word) const;

  std::vector<Word> words_;
  std::vector<std::array<std::uint32_t, kMaxWarps>> known_;  ///< [warp][other]: last known epoch
  std::array<std::uint32_t, kMaxWarps> epoch_{};
};

}  // namespace cuco::check
