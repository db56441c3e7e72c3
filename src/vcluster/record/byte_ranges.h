// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sets of bytes, as a block's reads and writes make them: gathered range by range, kept as few
/// rectangles (rows of the same length at one distance from each other).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cuco::vcluster {

/// [begin, end).
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  auto operator<=>(const ByteRange&) const = default;
};

/// `rows` times `bytes`, the first at `first`, each `pitch` behind the one before.
struct ByteRows {
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;  ///< 0 where there is one row.
  auto operator<=>(const ByteRows&) const = default;
};

/// Sorted, without overlaps, and what touches is one.
[[nodiscard]] std::vector<ByteRange> merged(std::vector<ByteRange> ranges);

/// Of merged ranges: from the front, as many as fit go into each rectangle.
[[nodiscard]] std::vector<ByteRows> as_rows(std::span<const ByteRange> ranges);
[[nodiscard]] std::vector<ByteRange> as_ranges(std::span<const ByteRows> rows);

/// A set that is added to all the time. It holds at most so many ranges: beyond that the narrowest
/// gaps are filled, and it says that it is no longer exact.
class ByteSet {
 public:
  static constexpr std::size_t kMostRanges = 4096;

  void add(std::uint64_t begin, std::uint64_t end) {
    if (!ranges_.empty()) {
      ByteRange& last = ranges_.back();
      if (begin >= last.begin && begin <= last.end) {
        if (end > last.end) last.end = end;
        return;
      }
    }
    ranges_.push_back({begin, end});
    if (ranges_.size() >= tidy_at_) tidy();
  }
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  [[nodiscard]] bool is_exact() const { return is_exact_; }
  /// Merged; the set is empty then.
  [[nodiscard]] std::vector<ByteRange> take();

 private:
  void tidy();

  std::vector<ByteRange> ranges_;
  std::size_t tidy_at_ = 256;
  bool is_exact_ = true;
};

}  // namespace cuco::vcluster
