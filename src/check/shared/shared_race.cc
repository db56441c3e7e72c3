// SPDX-License-Identifier: Apache-2.0
#include "check/shared/shared_race.h"

#include <algorithm>
#include <bit>

namespace cuco::check {

void SharedRaces::reset(std::uint32_t bytes, unsigned warps) {
  const std::size_t rows = (bytes + 4 * kRow - 1) / (4 * kRow);
  // What an earlier block left has old stamps: nothing has to be cleared.
  if (rows > rows_.size()) {
    rows_.resize(rows);
    words_.resize(rows * kRow);
  }
  all_words_ = (bytes + 3) / 4;  // the last one may be a part: a single bool
  warps_ = warps;
  lanes_.reset();
  for (const auto& [key, kept] : kept_)
    row_of_kept(key).has_kept = false;
  kept_.clear();
}

void SharedRaces::keep_readers(unsigned warp,
                               std::uint64_t key,
                               std::uint32_t readers,
                               std::uint32_t epoch,
                               std::uint32_t site) {
  if (epoch < order_->base()) return;  // an earlier block's
  std::uint32_t unknown = unknown_readers(warp, readers, epoch);
  if (unknown == 0) return;
  Kept& kept = kept_[key];
  kept.site = site;
  for (; unknown != 0; unknown &= unknown - 1)
    kept.epochs[static_cast<unsigned>(std::countr_zero(unknown))] = epoch;
  row_of_kept(key).has_kept = true;
}

unsigned SharedRaces::kept_reader(unsigned warp,
                                  std::uint32_t word,
                                  unsigned mask,
                                  std::uint32_t* site) const {
  if (!rows_[word / kRow].has_kept) return kMaxWarps;
  const auto reader_of = [&](std::uint64_t key) {
    const auto found = kept_.find(key);
    if (found == kept_.end()) return kMaxWarps;
    for (unsigned other = 0; other < warps_; ++other) {
      if (other == warp || order_->known(warp, other) >= found->second.epochs[other]) continue;
      *site = found->second.site;
      return other;
    }
    return kMaxWarps;
  };
  unsigned reader = reader_of(kept_key(kRowKey | word / kRow, 0xF));
  for (unsigned bytes = 1; bytes <= 0xF && reader == kMaxWarps; ++bytes) {
    if ((bytes & mask) != 0) reader = reader_of(kept_key(word, bytes));
  }
  return reader;
}

std::uint32_t SharedRaces::floor_of(unsigned warp) const {
  const BlockOrder::Epochs& known = order_->known(warp);
  std::uint32_t lowest = ~0U;
  for (unsigned other = 0; other < warp; ++other)
    lowest = std::min(lowest, known[other]);
  for (unsigned other = warp + 1; other < warps_; ++other)
    lowest = std::min(lowest, known[other]);
  return lowest;
}

std::uint32_t SharedRaces::unknown_readers(unsigned warp,
                                           std::uint32_t readers,
                                           std::uint32_t epoch) const {
  std::uint32_t others = readers & ~(1U << warp);
  for (std::uint32_t rest = others; rest != 0; rest &= rest - 1) {
    const auto other = static_cast<unsigned>(std::countr_zero(rest));
    if (order_->known(warp, other) >= epoch) others &= ~(1U << other);
  }
  return others;
}

bool SharedRaces::is_of_other_lane(unsigned warp,
                                   unsigned lane,
                                   unsigned earlier,
                                   std::uint32_t phase) const {
  if (lanes_.knows(warp, lane, earlier, phase)) return false;
  if (lane == kMatrix || earlier == kMatrix) return true;
  return lane != kAnyLane && earlier != kAnyLane && (lane == kSeveral || lane != earlier);
}

void SharedRaces::expand(std::uint32_t index) {
  Row& row = rows_[index];
  if (row.has_words) return;
  row.has_words = true;
  for (std::uint32_t i = 0; i < kRow; ++i) {
    Word& word = words_[index * kRow + i];
    word.writer = row.writer;
    word.write_site = row.write_site;
    word.write_phase = row.write_phase;
    word.write_lane = static_cast<std::uint8_t>(row.write_lane + i / row.lane_words);
    word.is_atomic = false;
    word.write_mask = 0xF;
    word.written_mask = is_written(row.writer) ? 0xF : 0;
  }
}

/// The state of the whole row is enough: nothing is wrong, or each word has to be checked.
bool SharedRaces::write_row(Row& row, const Access& access, std::uint8_t lane) {
  if (row.has_words || row.has_kept) return false;
  if (is_written(row.writer) && !knows(access.warp, row.writer)) return false;
  const std::uint32_t floor = floor_of(access.warp);
  if (row.word_read_epoch > floor) return false;
  if (row.read_epoch > floor && unknown_readers(access.warp, row.readers, row.read_epoch) != 0) {
    return false;
  }
  const Recent recent = recent_reads(access.warp);
  if (recent.has_phase(row.word_read_phase)) return false;
  if (recent.has(row) && (row.read_lane != lane || row.read_lane_words != access.lane_words)) {
    return false;
  }
  if (is_fresh(row, access) && (row.write_lane != lane || row.lane_words != access.lane_words)) {
    return false;
  }
  row.writer = access.warp << kEpochBits | order_->epoch(access.warp);
  row.write_site = access.site;
  row.write_phase = lanes_.phase(access.warp);
  row.write_lane = lane;
  row.lane_words = static_cast<std::uint8_t>(access.lane_words);
  row.readers = 0;
  return true;
}

bool SharedRaces::quick_write(const Access& access) {
  const std::size_t end = std::size_t{access.first} + access.count;
  if (end > all_words_ || access.lane_words == 0) return false;
  if (access.first % kRow != 0 || access.count % kRow != 0) return write_words(access, end);
  for (std::size_t i = access.first; i < end; i += kRow) {
    if (!write_row(rows_[i / kRow], access, lane_of(access, i))) return false;
  }
  return true;
}

/// Rows that do not begin where ours do, as those of padded tiles.
bool SharedRaces::write_words(const Access& access, std::size_t end) {
  const unsigned warp = access.warp;
  const std::uint32_t floor = floor_of(warp);
  const std::uint32_t stamp = warp << kEpochBits | order_->epoch(warp);
  const Recent recent = recent_reads(warp);
  const auto is_read = [&](std::uint32_t readers, std::uint32_t epoch) {
    return epoch > floor && unknown_readers(warp, readers, epoch) != 0;
  };
  for (std::size_t i = access.first; i < end;) {
    const auto index = static_cast<std::uint32_t>(i / kRow);
    const Row& row = rows_[index];
    if (row.has_kept || is_read(row.readers, row.read_epoch)) return false;
    if (recent.has(row)) return false;
    expand(index);
    const std::size_t row_end = std::min<std::size_t>(end, (i / kRow + 1) * kRow);
    for (; i < row_end; ++i) {
      Word& word = words_[i];
      if (is_written(word.writer) && !knows(warp, word.writer)) return false;
      if (is_read(word.readers, word.read_epoch)) return false;
      if (recent.has(word) && word.read_lane != lane_of(access, i)) return false;
      if (is_fresh(word, access) && word.write_lane != lane_of(access, i)) return false;
      word.writer = stamp;
      word.write_site = access.site;
      word.readers = 0;
      word.write_phase = lanes_.phase(warp);
      word.write_lane = lane_of(access, i);
      word.is_atomic = false;
      word.write_mask = 0xF;
      word.written_mask = 0xF;
    }
  }
  return true;
}

void SharedRaces::read(const Access& access, const Report& report) {
  const unsigned warp = access.warp;
  const std::uint32_t epoch = order_->epoch(warp);
  const auto end = std::min<std::size_t>(std::size_t{access.first} + access.count, all_words_);
  std::uint32_t checked = 0;  // the stamp found ordered last: neighbours mostly share it
  bool reported = false;
  QuickReader quick(*this, warp);
  for (std::size_t i = access.first; i < end;) {
    Row& row = rows_[i / kRow];
    if (i % kRow == 0 && end - i >= kRow && access.lane_words != 0 && !access.any_lane &&
        quick.read_row(row, access.site, lane_of(access, i),
                       access.matrix ? 0 : access.lane_words)) {
      i += kRow;
      continue;
    }
    row.word_read_epoch = std::max(row.word_read_epoch, epoch);
    row.word_read_phase = quick.phase_;
    const std::size_t row_end = std::min<std::size_t>(end, (i / kRow + 1) * kRow);
    for (; i < row_end; ++i) {
      Word& word = words_[i];
      const std::uint32_t writer = row.has_words ? word.writer : row.writer;
      if (writer != checked || writer == 0) {
        const std::uint32_t site = row.has_words ? word.write_site : row.write_site;
        Conflict conflict{Conflict::Kind::Warps,
                          static_cast<std::uint32_t>(4 * i),
                          writer >> kEpochBits,
                          0,
                          site,
                          true};
        const bool unwritten =
            !is_written(writer) || (row.has_words && (access.mask & ~word.written_mask) != 0);
        if (unwritten) {
          conflict.kind = Conflict::Kind::Unwritten;
        } else if (row.has_words && (word.write_mask & access.mask) == 0) {
          conflict.earlier_site = 0;
        } else if (knows(warp, writer)) {
          checked = writer >> kEpochBits == warp || row.has_words ? 0 : writer;
          // Stores of other lanes of this warp, with no __syncwarp() since.
          const bool mine = (writer >> kEpochBits) == warp && (writer & kEpochMask) == epoch;
          const unsigned write_lane =
              row.has_words ? word.write_lane
                            : row.write_lane + static_cast<unsigned>(i % kRow) / row.lane_words;
          const std::uint32_t phase = row.has_words ? word.write_phase : row.write_phase;
          if (!mine || site == access.site || (row.has_words && word.is_atomic) ||
              !is_of_other_lane(warp, toucher(access, i), write_lane, phase)) {
            conflict.earlier_site = 0;
          } else {
            conflict.kind = Conflict::Kind::Lanes;
            conflict.earlier_lane = write_lane;
          }
        }
        if (!reported && (conflict.earlier_site != 0 || unwritten)) {
          reported = report(conflict);
        }
      }
      quick.note(word, access.site, toucher(access, i), access.mask);
    }
  }
}

void SharedRaces::write(const Access& access, const Report& report) {
  const unsigned warp = access.warp;
  const std::uint32_t stamp = warp << kEpochBits | order_->epoch(warp);
  const auto end = std::min<std::size_t>(std::size_t{access.first} + access.count, all_words_);
  const Recent recent = recent_reads(warp);
  bool reported = false;
  for (std::size_t i = access.first; i < end;) {
    const auto index = static_cast<std::uint32_t>(i / kRow);
    Row& row = rows_[index];
    const bool whole = i % kRow == 0 && end - i >= kRow;
    const bool by_lanes = whole && access.lane_words != 0 && !access.any_lane && !access.matrix;
    if (by_lanes && write_row(row, access, lane_of(access, i))) {
      i += kRow;
      continue;
    }
    expand(index);
    const std::uint32_t floor = row.read_epoch == 0 ? 0 : floor_of(warp);
    const std::uint32_t row_readers =
        row.read_epoch > floor ? unknown_readers(warp, row.readers, row.read_epoch) : 0;
    const bool row_recent = recent.has(row);
    const std::size_t row_end = std::min<std::size_t>(end, (i / kRow + 1) * kRow);
    const std::size_t row_begin = i;
    for (; i < row_end; ++i) {
      Word& word = words_[i];
      const auto offset = static_cast<std::uint32_t>(4 * i);
      if (!reported && is_written(word.writer) && (word.write_mask & access.mask) != 0 &&
          !knows(warp, word.writer)) {
        reported = report(
            {Conflict::Kind::Warps, offset, word.writer >> kEpochBits, 0, word.write_site, true});
      }
      const std::uint32_t others = (word.read_mask & access.mask) == 0
                                       ? 0
                                       : unknown_readers(warp, word.readers, word.read_epoch);
      if (!reported && (others | row_readers) != 0) {
        reported =
            report({Conflict::Kind::Warps, offset,
                    static_cast<unsigned>(std::countr_zero(others != 0 ? others : row_readers)), 0,
                    others != 0 ? word.read_site : row.read_site, false});
      }
      if (std::uint32_t site = 0; !reported && row.has_kept) {
        const unsigned reader =
            kept_reader(warp, static_cast<std::uint32_t>(i), access.mask, &site);
        if (reader != kMaxWarps)
          reported = report({Conflict::Kind::Warps, offset, reader, 0, site, false});
      }
      const unsigned lane = toucher(access, i);
      const auto report_reader = [&](unsigned reader, std::uint32_t phase, std::uint32_t site) {
        if (reported || !is_of_other_lane(warp, lane, reader, phase & kEpochMask)) return;
        reported = report({Conflict::Kind::Lanes, offset, warp, reader, site, false, true});
      };
      // Of parts of a word it is not known which of them the last lane stored.
      if (!reported && is_fresh(word, access) && !word.is_atomic && access.mask == 0xF &&
          is_of_other_lane(warp, lane, word.write_lane, word.write_phase)) {
        reported = report(
            {Conflict::Kind::Lanes, offset, warp, word.write_lane, word.write_site, true, true});
      }
      if (row_recent) report_reader(reader_of(row, i), row.read_phase, row.read_site);
      if (recent.has(word) && (word.read_mask & access.mask) != 0) {
        report_reader(word.read_lane, word.read_phase, word.read_site);
      }
      const unsigned written = is_written(word.writer) ? word.written_mask : 0U;
      word.written_mask = (written | access.mask) & 0xFU;
      word.write_mask = ((word.writer == stamp ? word.write_mask : 0U) | access.mask) & 0xFU;
      word.writer = stamp;
      word.write_site = access.site;
      word.readers = 0;
      word.write_phase = lanes_.phase(warp);
      // Lanes that store to one word mostly store one value.
      word.write_lane = static_cast<std::uint8_t>(lane == kSeveral ? kAnyLane : lane);
      word.is_atomic = false;
    }
    if (by_lanes) {
      // All words are alike now.
      row.has_words = false;
      row.writer = stamp;
      row.write_site = access.site;
      row.write_phase = lanes_.phase(warp);
      row.write_lane = lane_of(access, row_begin);
      row.lane_words = static_cast<std::uint8_t>(access.lane_words);
      row.readers = 0;
    }
  }
}

void SharedRaces::atomic(unsigned warp,
                         std::uint32_t index,
                         std::uint32_t site,
                         const Report& report) {
  if (index >= all_words_) return;
  expand(index / kRow);
  const Row& row = rows_[index / kRow];
  Word& word = words_[index];
  std::uint32_t others = unknown_readers(warp, word.readers, word.read_epoch);
  others |= unknown_readers(warp, row.readers, row.read_epoch);
  if (!is_written(word.writer)) {
    (void)report({Conflict::Kind::Unwritten, 4 * index, 0, 0, 0, true});
  } else if (!word.is_atomic && !knows(warp, word.writer)) {
    (void)report(
        {Conflict::Kind::Warps, 4 * index, word.writer >> kEpochBits, 0, word.write_site, true});
  } else if (others != 0) {
    (void)report({Conflict::Kind::Warps, 4 * index, static_cast<unsigned>(std::countr_zero(others)),
                  0, word.read_site, false});
  } else if (std::uint32_t kept = 0; row.has_kept) {
    const unsigned reader = kept_reader(warp, index, 0xF, &kept);
    if (reader != kMaxWarps)
      (void)report({Conflict::Kind::Warps, 4 * index, reader, 0, kept, false});
  }
  strong_write(warp, index, site);
}

void SharedRaces::strong_write(unsigned warp, std::uint32_t index, std::uint32_t site) {
  if (index >= all_words_) return;
  expand(index / kRow);
  Word& word = words_[index];
  word.writer = warp << kEpochBits | order_->epoch(warp);
  word.write_site = site;
  word.readers = 0;
  word.write_phase = lanes_.phase(warp);
  word.write_lane = kAnyLane;
  word.is_atomic = true;
  word.write_mask = 0xF;
  word.written_mask = 0xF;
}

}  // namespace cuco::check
