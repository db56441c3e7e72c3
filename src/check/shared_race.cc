// SPDX-License-Identifier: Apache-2.0
#include "check/shared_race.h"

#include <algorithm>
#include <bit>

namespace cuco::check {

SharedRaces::SharedRaces(std::uint32_t bytes, unsigned warps)
    : words_((bytes + 3) / 4), known_(std::max(warps, 1U)) {
  epoch_.fill(1);
}

std::uint32_t SharedRaces::unordered_readers(unsigned warp, const Word& word) const {
  std::uint32_t others = word.readers & ~(1U << warp);
  for (std::uint32_t rest = others; rest != 0; rest &= rest - 1) {
    const auto other = static_cast<unsigned>(std::countr_zero(rest));
    if (known_[warp][other] >= word.read_epoch) others &= ~(1U << other);
  }
  return others;
}

void SharedRaces::read(unsigned warp,
                       std::uint32_t first,
                       std::uint32_t count,
                       std::uint32_t site,
                       const Report& report) {
  std::uint32_t checked = 0;  // the stamp found ordered last: neighbours mostly share it
  const std::uint32_t epoch = epoch_[warp];
  const auto end = std::min<std::size_t>(std::size_t{first} + count, words_.size());
  bool reported = false;
  for (std::size_t i = first; i < end; ++i) {
    Word& word = words_[i];
    if (word.writer != checked && word.writer != 0) {
      if (knows(warp, word.writer)) {
        checked = word.writer;
      } else if (!reported) {
        report(
            {static_cast<std::uint32_t>(4 * i), word.writer >> kEpochBits, word.write_site, true});
        reported = true;
      }
    }
    word.readers |= 1U << warp;
    word.read_epoch = std::max(word.read_epoch, epoch);
    word.read_site = site;
  }
}

void SharedRaces::write(unsigned warp,
                        std::uint32_t first,
                        std::uint32_t count,
                        std::uint32_t site,
                        const Report& report) {
  const std::uint32_t stamp = warp << kEpochBits | epoch_[warp];
  const auto end = std::min<std::size_t>(std::size_t{first} + count, words_.size());
  bool reported = false;
  for (std::size_t i = first; i < end; ++i) {
    Word& word = words_[i];
    if (!reported && word.writer != 0 && !knows(warp, word.writer)) {
      report({static_cast<std::uint32_t>(4 * i), word.writer >> kEpochBits, word.write_site, true});
      reported = true;
    }
    if (!reported && word.readers != 0) {
      const std::uint32_t others = unordered_readers(warp, word);
      if (others != 0) {
        report({static_cast<std::uint32_t>(4 * i), static_cast<unsigned>(std::countr_zero(others)),
                word.read_site, false});
        reported = true;
      }
    }
    word = {stamp, site, 0, 0, 0, 0};
  }
}

void SharedRaces::atomic(unsigned warp,
                         std::uint32_t index,
                         std::uint32_t site,
                         const Report& report) {
  if (index >= words_.size()) return;
  Word& word = words_[index];
  const bool atomic_before = word.atomic != 0;
  if (word.writer != 0 && !atomic_before && !knows(warp, word.writer)) {
    report({4 * index, word.writer >> kEpochBits, word.write_site, true});
  } else if (const std::uint32_t others = unordered_readers(warp, word); others != 0) {
    report({4 * index, static_cast<unsigned>(std::countr_zero(others)), word.read_site, false});
  }
  word = {warp << kEpochBits | epoch_[warp], site, 0, 0, 0, 1};
}

void SharedRaces::meet(std::uint32_t mask) {
  std::array<std::uint32_t, kMaxWarps> all{};
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto warp = static_cast<unsigned>(std::countr_zero(rest));
    if (warp >= known_.size()) continue;
    for (unsigned other = 0; other < kMaxWarps; ++other) {
      all[other] = std::max(all[other], known_[warp][other]);
    }
    all[warp] = std::max(all[warp], epoch_[warp]);
  }
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto warp = static_cast<unsigned>(std::countr_zero(rest));
    if (warp >= known_.size()) continue;
    known_[warp] = all;
    ++epoch_[warp];
  }
}

}  // namespace cuco::check
