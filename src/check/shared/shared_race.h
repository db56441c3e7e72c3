// SPDX-License-Identifier: Apache-2.0
/// \file
/// One block's shared memory: races of warps against warps and of lanes against lanes, and words
/// that are read before anybody wrote them.
///
/// A word remembers its last writer and the readers since. Warps are ordered by the block's
/// barriers (BlockOrder), lanes of one warp by __syncwarp() (LaneOrder). Rows of 32 words that are
/// written and read as a whole, as tiles are, keep their state once for the row.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "check/race/block_order.h"
#include "check/shared/lane_order.h"

namespace cuco::check {

class SharedRaces {
 public:
  static constexpr unsigned kMaxWarps = BlockOrder::kMaxWarps;
  static constexpr unsigned kAnyLane = 255;  ///< One of several, or nobody's to blame.
  static constexpr unsigned kMatrix = 254;   ///< A matrix instruction of the whole warp.
  static constexpr unsigned kSeveral = 253;  ///< More than one, all of them at all of it.
  struct Conflict {
    enum class Kind : std::uint8_t { Warps, Lanes, Unwritten };
    Kind kind = Kind::Warps;
    std::uint32_t offset = 0;  ///< Of the word, in bytes.
    unsigned earlier_warp = 0;
    unsigned earlier_lane = 0;  ///< For Lanes; or kMatrix, kSeveral.
    std::uint32_t earlier_site = 0;
    bool earlier_writes = false;
    bool later_writes = false;  ///< For Lanes.
  };
  /// False: it may be harmless, and the rest of the access is to be looked at, too.
  using Report = std::function<bool(const Conflict&)>;

  /// Neighbouring words touched by neighbouring lanes of one warp.
  struct Access {
    unsigned warp = 0;
    std::uint32_t first = 0;  ///< Word.
    std::uint32_t count = 1;
    std::uint32_t site = 0;
    unsigned lane = 0;  ///< Of the first word.
    /// A power of 2. 0: all by several lanes, as in a broadcast.
    std::uint32_t lane_words = 1;
    /// Which lane has which byte is not known: several share the word, …
    bool any_lane = false;
    bool matrix = false;      ///< …or it is part of a matrix, which any of them may have moved.
    std::uint8_t mask = 0xF;  ///< Bytes of the word; not all of them only if count is 1.
  };

  explicit SharedRaces(const BlockOrder& order) : order_(&order) {}
  /// A new block begins, after order.reset().
  void reset(std::uint32_t bytes, unsigned warps);

  /// Accesses by all 32 lanes to whole words, in which nothing is wrong: true. False: it takes a
  /// closer look, by read or write, to tell; what was noted so far does no harm.
  class QuickReader;
  bool quick_write(const Access& access);
  /// Each reports at most one conflict that counts.
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

  struct Written {
    unsigned warp = 0;
    std::uint32_t epoch = 0;
    std::uint32_t site = 0;
  };
  /// The last write to the word, by this block.
  [[nodiscard]] std::optional<Written> last_write(std::uint32_t word) const {
    if (!was_written(word)) return std::nullopt;
    const Row& row = rows_[word / kRow];
    const std::uint32_t writer = row.has_words ? words_[word].writer : row.writer;
    return Written{writer >> kEpochBits, writer & kEpochMask,
                   row.has_words ? words_[word].write_site : row.write_site};
  }

  /// All lanes of the warp, or some of them, met at a __syncwarp() or a barrier.
  void sync_lanes(unsigned warp) { lanes_.meet(warp); }
  void sync_lanes(unsigned warp, std::uint32_t lanes) { lanes_.meet(warp, lanes); }

 private:
  static constexpr std::uint32_t kRow = 32;
  static constexpr unsigned kEpochBits = 27;
  static constexpr std::uint32_t kEpochMask = (1U << kEpochBits) - 1;
  struct Word {
    std::uint32_t writer = 0;  ///< warp << 27 | epoch; 0: never written.
    std::uint32_t write_site = 0;
    std::uint32_t write_phase = 0;
    std::uint32_t readers = 0;  ///< Warps that read since the write.
    std::uint32_t read_epoch = 0;
    std::uint32_t read_site = 0;
    std::uint32_t read_phase = 0;  ///< Of the last to read: warp << 27 | phase of its lanes.
    std::uint8_t write_lane = 0;
    std::uint8_t read_lane = 0;
    std::uint8_t write_mask : 4 = 0xF;    ///< Bytes of the last write…
    std::uint8_t read_mask : 4 = 0;       ///< …of the reads since…
    std::uint8_t written_mask : 4 = 0xF;  ///< …and those written at all.
    bool is_atomic : 1 = false;
  };
  static_assert(sizeof(Word) == 32, "two in a cache line");
  struct Row {
    std::uint32_t writer = 0;  ///< Of all its words, if they have not a state each.
    std::uint32_t write_site = 0;
    std::uint32_t write_phase = 0;
    std::uint32_t readers = 0;  ///< Of the whole row.
    std::uint32_t read_epoch = 0;
    std::uint32_t read_site = 0;
    std::uint32_t read_phase = 0;
    std::uint32_t word_read_epoch = 0;  ///< The latest read of single words.
    std::uint32_t word_read_phase = 0;
    bool has_words = false;
    bool has_kept = false;  ///< kept_ may have readers of it.
    // Its words were written, and read, by neighbouring lanes, so many words each.
    std::uint8_t write_lane = 0;
    std::uint8_t lane_words = 1;
    std::uint8_t read_lane = 0;
    std::uint8_t read_lane_words = 1;  ///< 0: by several layouts.
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
  /// Warps run apart where no barrier of all keeps them together: those who have read in another
  /// epoch than the one who reads now, and are not known to it to be done, have a place of their
  /// own.
  struct Kept {
    BlockOrder::Epochs epochs{};
    std::uint32_t site = 0;
  };
  static constexpr std::uint32_t kRowKey = 1U << 31U;  ///< Readers of whole rows.
  /// Bytes of a word are kept apart: flags that take turns may share one.
  [[nodiscard]] static std::uint64_t kept_key(std::uint32_t place, unsigned mask) {
    return std::uint64_t{mask} << 32U | place;
  }
  void keep_readers(unsigned warp,
                    std::uint64_t key,
                    std::uint32_t readers,
                    std::uint32_t epoch,
                    std::uint32_t site);
  /// Of these bytes of the word: one whom the warp does not know to be done; its number, or
  /// kMaxWarps.
  [[nodiscard]] unsigned kept_reader(unsigned warp,
                                     std::uint32_t word,
                                     unsigned mask,
                                     std::uint32_t* site) const;
  [[nodiscard]] Row& row_of_kept(std::uint64_t key) {
    const auto place = static_cast<std::uint32_t>(key);
    return rows_[(place & kRowKey) != 0 ? place & ~kRowKey : place / kRow];
  }
  /// Of the first word of a row of the access.
  [[nodiscard]] static std::uint8_t lane_of(const Access& access, std::size_t word) {
    return static_cast<std::uint8_t>(
        access.lane + ((word - access.first) >> std::countr_zero(access.lane_words)));
  }
  /// What the warp's own lanes stored there, with another instruction and without having met since.
  template <typename State>
  [[nodiscard]] bool is_fresh(const State& written, const Access& access) const {
    return written.writer == (access.warp << kEpochBits | order_->epoch(access.warp)) &&
           written.write_site != access.site && written.write_phase >= lanes_.floor(access.warp);
  }
  /// The warp's own reads of which some of its lanes may not know.
  struct Recent {
    std::uint32_t first = 0;  ///< Phases from here on…
    std::uint32_t count = 0;  ///< …and so many.
    std::uint32_t epoch = 0;
    std::uint32_t bit = 0;  ///< The warp's.

    [[nodiscard]] bool has_phase(std::uint32_t phase) const { return phase - first < count; }
    template <typename State>
    [[nodiscard]] bool has(const State& read) const {
      return has_phase(read.read_phase) && read.read_epoch == epoch && (read.readers & bit) != 0;
    }
  };
  [[nodiscard]] Recent recent_reads(unsigned warp) const {
    const std::uint32_t floor = lanes_.floor(warp);
    return {warp << kEpochBits | (floor & kEpochMask), lanes_.phase(warp) - floor + 1,
            order_->epoch(warp), 1U << warp};
  }
  /// What `earlier` did in that phase is another lane's, which `lane` does not know to be over.
  [[nodiscard]] bool is_of_other_lane(unsigned warp,
                                      unsigned lane,
                                      unsigned earlier,
                                      std::uint32_t phase) const;
  [[nodiscard]] static unsigned reader_of(const Row& row, std::size_t word) {
    return row.read_lane_words == 0
               ? kSeveral
               : row.read_lane + static_cast<unsigned>(word % kRow) / row.read_lane_words;
  }
  /// Who touches a word of the access.
  [[nodiscard]] static unsigned toucher(const Access& access, std::size_t word) {
    if (access.matrix) return kMatrix;
    if (access.any_lane) return kAnyLane;
    return access.lane_words == 0 ? kSeveral : lane_of(access, word);
  }
  bool write_words(const Access& access, std::size_t end);
  bool write_row(Row& row, const Access& access, std::uint8_t lane);
  /// `mask`: the bytes read.
  static void note_lane(Word& word, std::uint32_t phase, unsigned lane, unsigned mask) {
    if (word.read_phase == phase && word.read_lane != lane) {
      // Different bytes of it may be different lanes'.
      lane = lane == kMatrix || word.read_lane == kMatrix ? kMatrix
             : word.read_mask == mask                     ? kSeveral
                                                          : kAnyLane;
    }
    word.read_phase = phase;
    word.read_lane = static_cast<std::uint8_t>(lane);
  }
  void expand(std::uint32_t row);

  const BlockOrder* order_;
  unsigned warps_ = 0;
  std::uint32_t all_words_ = 0;
  std::vector<Word> words_;
  std::vector<Row> rows_;
  /// By word, or kRowKey and the row, and bytes. Few.
  std::unordered_map<std::uint64_t, Kept> kept_;
  LaneOrder lanes_;
};

/// Reads of one warp between two synchronisations of its own: what holds for all of them is checked
/// up once.
class SharedRaces::QuickReader {
 public:
  QuickReader(SharedRaces& races, unsigned warp)
      : races_(races),
        rows_(races.rows_.data()),
        words_(races.words_.data()),
        known_(races.order_->known(warp)),
        warp_(warp),
        epoch_(races.order_->epoch(warp)),
        base_(races.order_->base()),
        own_(warp << kEpochBits | epoch_),
        phase_(warp << kEpochBits | (races.lanes_.phase(warp) & kEpochMask)),
        bit_(1U << warp),
        end_(races.all_words_) {}

  /// One word, by all lanes.
  bool read_word(std::uint32_t index, std::uint32_t site) {
    if (index >= end_) return false;
    Row& row = rows_[index / kRow];
    Word& word = words_[index];
    const std::uint32_t writer = row.has_words ? word.writer : row.writer;
    // What this warp itself has just written depends on the lanes.
    if (writer == own_ || !is_ordered(writer)) return false;
    if (row.has_words && word.written_mask != 0xF) return false;
    row.word_read_epoch = std::max(row.word_read_epoch, epoch_);
    row.word_read_phase = phase_;
    note(word, site, kSeveral);
    return true;
  }

  /// 32 words, one by each lane.
  bool read_row(std::uint32_t first, std::uint32_t site) {
    if (first % kRow != 0 || first >= end_ || end_ - first < kRow) {
      return read({.warp = warp_, .first = first, .count = kRow, .site = site});
    }
    return read_row(rows_[first / kRow], site, 0, 1);
  }

  bool read(const Access& access) {
    const std::uint32_t end = access.first + access.count;
    if (end > end_ || access.first >= end) return false;
    if (access.lane_words == 0 || access.first % kRow != 0 || access.count % kRow != 0) {
      return read_words(access, end);
    }
    for (std::uint32_t i = access.first; i < end; i += kRow) {
      if (!read_row(rows_[i / kRow], access.site, lane_of(access, i), access.lane_words)) {
        return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] bool is_ordered(std::uint32_t writer) const {
    const std::uint32_t then = writer & kEpochMask;
    const std::uint32_t other = writer >> kEpochBits;
    return then >= base_ && (other == warp_ || known_[other] >= then);
  }

  bool read_row(Row& row, std::uint32_t site, std::uint8_t lane, std::uint32_t lane_words) {
    if (row.has_words || !is_ordered(row.writer)) return false;
    // Each lane may read what it wrote itself.
    if (row.writer == own_ && row.write_phase >= races_.lanes_.floor(warp_) &&
        (row.write_lane != lane || row.lane_words != lane_words)) {
      return false;
    }
    // Only readers of one epoch are in one number: with it for all, others would seem too late.
    const bool known = row.read_epoch == epoch_;
    if (!known && (row.readers & ~bit_) != 0) [[unlikely]] {
      races_.keep_readers(warp_, kept_key(kRowKey | static_cast<std::uint32_t>(&row - rows_), 0xF),
                          row.readers, row.read_epoch, row.read_site);
    }
    const bool alike = row.read_lane == lane && row.read_lane_words == lane_words;
    row.readers = (known ? row.readers : 0) | bit_;
    row.read_lane_words =
        static_cast<std::uint8_t>(known && row.read_phase == phase_ && !alike ? 0 : lane_words);
    row.read_lane = lane;
    row.read_epoch = epoch_;
    row.read_phase = phase_;
    row.read_site = site;
    return true;
  }

  bool read_words(const Access& access, std::uint32_t end) {
    std::uint32_t ordered = ~0U;  // The stamp that was found in order last: none yet.
    for (std::uint32_t i = access.first; i < end; ++i) {
      Row& row = rows_[i / kRow];
      Word& word = words_[i];
      const std::uint32_t writer = row.has_words ? word.writer : row.writer;
      if (writer != ordered) {
        // What this warp itself has just written depends on the lanes.
        if (writer == own_ || !is_ordered(writer)) return false;
        ordered = writer;
      }
      if (row.has_words && word.written_mask != 0xF) return false;
      row.word_read_epoch = std::max(row.word_read_epoch, epoch_);
      row.word_read_phase = phase_;
      note(word, access.site, toucher(access, i));
    }
    return true;
  }

  void note(Word& word, std::uint32_t site, unsigned lane, unsigned mask = 0xF) const {
    const bool known = word.read_epoch == epoch_ && word.readers != 0;
    if (!known && (word.readers & ~bit_) != 0) [[unlikely]] {
      races_.keep_readers(warp_,
                          kept_key(static_cast<std::uint32_t>(&word - words_), word.read_mask),
                          word.readers, word.read_epoch, word.read_site);
    }
    if (!known) word.read_phase = ~phase_;
    note_lane(word, phase_, lane, mask);
    word.read_mask = static_cast<std::uint8_t>((known ? word.read_mask : 0U) | mask) & 0xFU;
    word.readers = (known ? word.readers : 0) | bit_;
    word.read_epoch = epoch_;
    word.read_site = site;
  }

  friend class SharedRaces;
  SharedRaces& races_;
  Row* rows_;
  Word* words_;
  const BlockOrder::Epochs& known_;
  unsigned warp_;
  std::uint32_t epoch_;
  std::uint32_t base_;
  std::uint32_t own_;    ///< The stamp of what the warp writes now.
  std::uint32_t phase_;  ///< And of the phase in which its lanes read.
  std::uint32_t bit_;
  std::uint32_t end_;  ///< In words.
};

}  // namespace cuco::check
