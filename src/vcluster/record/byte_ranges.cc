// SPDX-License-Identifier: Apache-2.0
#include "vcluster/record/byte_ranges.h"

#include <algorithm>
#include <utility>

namespace cuco::vcluster {
namespace {

/// Fills the narrowest gaps until a quarter of the ranges is left: what comes next has room.
std::vector<ByteRange> coarser(const std::vector<ByteRange>& ranges) {
  std::vector<std::uint64_t> gaps;
  for (std::size_t i = 1; i < ranges.size(); ++i)
    gaps.push_back(ranges[i].begin - ranges[i - 1].end);
  const std::size_t keep = ByteSet::kMostRanges / 4;
  std::ranges::nth_element(gaps, gaps.end() - static_cast<std::ptrdiff_t>(keep));
  const std::uint64_t widest = gaps[gaps.size() - keep];
  std::vector<ByteRange> out;
  for (const ByteRange& range : ranges) {
    if (!out.empty() && range.begin - out.back().end <= widest) {
      out.back().end = range.end;
    } else {
      out.push_back(range);
    }
  }
  return out;
}

}  // namespace

std::vector<ByteRange> merged(std::vector<ByteRange> ranges) {
  std::ranges::sort(ranges);
  std::size_t kept = 0;
  for (const ByteRange& range : ranges) {
    if (range.begin >= range.end) continue;
    if (kept > 0 && range.begin <= ranges[kept - 1].end) {
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
  return ranges;
}

std::vector<ByteRows> as_rows(std::span<const ByteRange> ranges) {
  std::vector<ByteRows> out;
  for (const ByteRange& range : ranges) {
    const std::uint64_t bytes = range.end - range.begin;
    if (!out.empty() && out.back().bytes == bytes) {
      ByteRows& last = out.back();
      const std::uint64_t pitch = range.begin - (last.first + (last.rows - 1) * last.pitch);
      if (last.rows == 1 || pitch == last.pitch) {
        last.pitch = pitch;
        ++last.rows;
        continue;
      }
    }
    out.push_back({range.begin, bytes, 1, 0});
  }
  return out;
}

std::vector<ByteRange> as_ranges(std::span<const ByteRows> rows) {
  std::vector<ByteRange> out;
  for (const ByteRows& one : rows) {
    for (std::uint64_t row = 0; row < one.rows; ++row) {
      const std::uint64_t begin = one.first + row * one.pitch;
      out.push_back({begin, begin + one.bytes});
    }
  }
  return merged(std::move(out));
}

void ByteSet::tidy() {
  ranges_ = merged(std::move(ranges_));
  if (ranges_.size() > kMostRanges) {
    ranges_ = coarser(ranges_);
    is_exact_ = false;
  }
  tidy_at_ = std::max<std::size_t>(256, 2 * ranges_.size());
}

std::vector<ByteRange> ByteSet::take() {
  tidy();
  return std::exchange(ranges_, {});
}

}  // namespace cuco::vcluster
