// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/read_origins.h"

#include <algorithm>
#include <numeric>

namespace cuco::analysis {
namespace {

using vcluster::BlockRecord;
using vcluster::ByteRange;
using vcluster::TracedStep;

/// Who wrote a range last.
struct Writer {
  enum class Kind : std::uint8_t { Block, Collective, Other };
  Kind kind = Kind::Other;
  std::array<std::uint32_t, 3> grid{};  ///< Of a block.
  std::size_t block = 0;
};

/// The last writers of one buffer; ranges do not overlap.
class LastWriters {
 public:
  void write(const ByteRange& range, const Writer& writer) {
    cut(range.begin);
    cut(range.end);
    const auto first = ranges_.lower_bound(range.begin);
    const auto last = ranges_.lower_bound(range.end);
    ranges_.erase(first, last);
    ranges_[range.begin] = {range.end, writer};
  }

  template <typename F>
  void for_each(const ByteRange& range, const F& take) const {
    std::uint64_t at = range.begin;
    auto next = ranges_.upper_bound(range.begin);
    if (next != ranges_.begin() && std::prev(next)->second.first > at) --next;
    for (; at < range.end; ++next) {
      const std::uint64_t begin = next == ranges_.end() ? range.end : next->first;
      if (begin > at) take(std::min(begin, range.end) - at, Writer{});
      if (begin >= range.end) return;
      const std::uint64_t from = std::max(at, begin);
      at = std::min(next->second.first, range.end);
      take(at - from, next->second.second);
    }
  }

 private:
  void cut(std::uint64_t at) {
    auto after = ranges_.upper_bound(at);
    if (after == ranges_.begin()) return;
    const auto before = std::prev(after);
    if (before->first == at || before->second.first <= at) return;
    const auto [end, writer] = before->second;
    before->second.first = at;
    ranges_[at] = {end, writer};
  }

  std::map<std::uint64_t, std::pair<std::uint64_t, Writer>> ranges_;  ///< begin -> end, who.
};

using Buffers = std::map<std::uint64_t, LastWriters>;

void read_blocks(const BlockRecord& record,
                 const TracedStep& step,
                 Buffers& buffers,
                 std::map<std::uint64_t, ReadOrigins>& out) {
  for (const vcluster::TouchedBuffer& touched : step.touched) {
    const vcluster::BlockMap& map = record.maps[touched.map];
    const LastWriters& writers = buffers[touched.buffer];
    for (std::size_t block = 0; block < map.size(); ++block) {
      for (const ByteRange& range : vcluster::as_ranges(map[block].read)) {
        writers.for_each(range, [&](std::uint64_t bytes, const Writer& writer) {
          ReadOrigins& origins = out[touched.buffer];
          if (writer.kind == Writer::Kind::Collective) {
            origins.arrived += bytes;
          } else if (writer.kind == Writer::Kind::Other) {
            origins.given += bytes;
          } else if (writer.grid == step.grid && writer.block == block) {
            origins.own += bytes;
          } else {
            origins.others += bytes;
          }
        });
      }
    }
  }
}

void write_blocks(const BlockRecord& record, const TracedStep& step, Buffers& buffers) {
  for (const vcluster::TouchedBuffer& touched : step.touched) {
    const vcluster::BlockMap& map = record.maps[touched.map];
    LastWriters& writers = buffers[touched.buffer];
    for (std::size_t block = 0; block < map.size(); ++block) {
      for (const ByteRange& range : vcluster::as_ranges(map[block].written))
        writers.write(range, {Writer::Kind::Block, step.grid, block});
    }
  }
}

}  // namespace

std::vector<std::map<std::uint64_t, ReadOrigins>> origins_of(const BlockRecord& record) {
  std::vector<std::map<std::uint64_t, ReadOrigins>> out(record.steps.size());
  Buffers buffers;
  // They stand in the order in which they ended; what reads comes after what it reads has ended.
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    const TracedStep& step = record.steps[i];
    read_blocks(record, step, buffers, out[i]);
    write_blocks(record, step, buffers);
    const Writer writer{
        step.kind == "collective" ? Writer::Kind::Collective : Writer::Kind::Other, {}, 0};
    for (const vcluster::TracedPart& part : step.written) {
      if (part.bytes != 0)
        buffers[part.buffer].write({part.offset, part.offset + part.bytes}, writer);
    }
  }
  return out;
}

}  // namespace cuco::analysis
