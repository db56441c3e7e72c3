// SPDX-License-Identifier: Apache-2.0
/// \file
/// One block's shared memory: races of warps against warps and of lanes against lanes, and words
/// that are read before anybody wrote them.
///
/// A word remembers its last writer and the readers since. Warps are ordered by the block's
/// barriers (BlockOrder), lanes of one warp by its .sync operations. Rows of 32 words that are
/// written and read as a whole, as tiles are, keep their state once for the row.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "check/block_order.h"

namespace cuco::check {

class SharedRaces {
 public:
  static constexpr unsigned kMaxWarps = BlockOrder::kMaxWarps;
  struct Conflict {
    enum class Kind : std::uint8_t { Warps, Lanes, Unwritten };
    Kind kind = Kind::Warps;
    std::uint32_t offset = 0;  ///< Of the word, in bytes.
    unsigned earlier_warp = 0;
    unsigned earlier_lane = 0;  ///< For Lanes.
    std::uint32_t earlier_site = 0;
    bool earlier_writes = false;
  };
  using Report = std::function<void(const Conflict&)>;

  /// Neighbouring words touched by neighbouring lanes of one warp.
  struct Access {
    unsigned warp = 0;
    std::uint32_t first = 0;  ///< Word.
    std::uint32_t count = 1;
    std::uint32_t site = 0;
    unsigned lane = 0;             ///< Of the first word.
    std::uint32_t lane_words = 1;  ///< 0: all by that lane, or by all lanes (a broadcast).
    bool whole_warp = false;       ///< A matrix load: lanes are not told apart.
    std::uint8_t mask = 0xF;       ///< Bytes of the word; not all of them only if count is 1.
  };

  explicit SharedRaces(const BlockOrder& order) : order_(&order) {}
  /// A new block begins, after order.reset().
  void reset(std::uint32_t bytes, unsigned warps);

  /// Accesses by all 32 lanes to whole words, in which nothing is wrong: true. False: it takes a
  /// closer look, by read or write, to tell; what was noted so far does no harm.
  bool quick_read(const Access& access);
  bool quick_write(const Access& access);
  /// Each reports at most one conflict.
  void read(const Access& access, const Report& report);
  void write(const Access& access, const Report& report);
  /// An atomic orders itself against other atomics, not against plain accesses.
  void atomic(unsigned warp, std::uint32_t word, std::uint32_t site, const Report& report);
  /// A strong access: it races with nothing, but a write counts as one.
  void strong_write(unsigned warp, std::uint32_t word, std::uint32_t site);

  [[nodiscard]] bool was_written(std::uint32_t word) const {
    const Row& row = rows_[word / kRow];
    return is_written(row.has_words ? words_[word].writer : row.writer);
  }

  /// Lanes of the warp met at a .sync operation.
  void sync_lanes(unsigned warp) { ++phase_[warp]; }

 private:
  static constexpr std::uint32_t kRow = 32;
  static constexpr unsigned kEpochBits = 27;
  static constexpr std::uint32_t kEpochMask = (1U << kEpochBits) - 1;
  struct Word {
    std::uint32_t writer = 0;  ///< warp << 27 | epoch; 0: never written.
    std::uint32_t write_site = 0;
    std::uint32_t readers = 0;  ///< Warps that read since the write.
    std::uint32_t read_epoch = 0;
    std::uint32_t read_site = 0;
    std::uint16_t write_phase = 0;
    std::uint8_t write_lane = 0;
    bool is_atomic = false;
    std::uint8_t write_mask = 0xF;    ///< Bytes of the last write…
    std::uint8_t read_mask = 0;       ///< …of the reads since…
    std::uint8_t written_mask = 0xF;  ///< …and those written at all.
  };
  struct Row {
    std::uint32_t writer = 0;  ///< Of all its words, if they have not a state each.
    std::uint32_t write_site = 0;
    std::uint32_t readers = 0;  ///< Of the whole row.
    std::uint32_t read_epoch = 0;
    std::uint32_t read_site = 0;
    std::uint32_t word_read_epoch = 0;  ///< The latest read of single words.
    std::uint16_t write_phase = 0;
    bool has_words = false;
    // Its words were written by neighbouring lanes, so many words each.
    std::uint8_t write_lane = 0;
    std::uint8_t lane_words = 1;
  };

  [[nodiscard]] bool knows(unsigned warp, std::uint32_t stamp) const {
    const unsigned other = stamp >> kEpochBits;
    return other == warp || order_->known(warp, other) >= (stamp & kEpochMask);
  }
  [[nodiscard]] bool is_written(std::uint32_t stamp) const {
    return (stamp & kEpochMask) >= order_->base();
  }
  /// Everything up to this epoch of every other warp is known to the warp.
  [[nodiscard]] std::uint32_t floor_of(unsigned warp) const;
  [[nodiscard]] std::uint32_t unknown_readers(unsigned warp,
                                              std::uint32_t readers,
                                              std::uint32_t epoch) const;
  /// Did this warp write it, and do its lanes not know yet?
  [[nodiscard]] bool is_fresh(unsigned warp, std::uint32_t writer, std::uint16_t phase) const {
    return writer == (warp << kEpochBits | order_->epoch(warp)) && phase == phase_[warp];
  }
  /// Of the first word of a row of the access.
  [[nodiscard]] static std::uint8_t lane_of(const Access& access, std::size_t word) {
    return static_cast<std::uint8_t>(access.lane + (word - access.first) / access.lane_words);
  }
  bool read_row(Row& row, const Access& access, std::uint8_t lane);
  bool write_row(Row& row, const Access& access, std::uint8_t lane);
  static void note_read(Word& word, const Access& access, std::uint32_t epoch);
  void expand(std::uint32_t row);

  const BlockOrder* order_;
  unsigned warps_ = 0;
  std::uint32_t bytes_ = 0;
  std::vector<Word> words_;
  std::vector<Row> rows_;
  std::array<std::uint16_t, kMaxWarps> phase_{};
};

}  // namespace cuco::check
