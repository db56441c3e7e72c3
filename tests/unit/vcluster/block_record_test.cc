// SPDX-License-Identifier: Apache-2.0
#include "vcluster/record/block_record.h"

#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/rng.h"

namespace cuco::vcluster {
namespace {

TEST(ByteRanges, RowsOfOneLengthAndDistanceAreARectangle) {
  const std::vector<ByteRange> ranges = {{0, 8}, {32, 40}, {64, 72}, {100, 108}, {200, 300}};
  const auto rows = as_rows(ranges);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0], (ByteRows{0, 8, 3, 32}));
  EXPECT_EQ(rows[1], (ByteRows{100, 8, 1, 0}));
  EXPECT_EQ(rows[2], (ByteRows{200, 100, 1, 0}));
  EXPECT_EQ(as_ranges(rows), ranges);
}

/// Whatever is added in whatever order: the set is that of a bitmap.
TEST(ByteRanges, ASetHasWhatWasAdded) {
  Rng rng(11);
  for (int round = 0; round < 20; ++round) {
    ByteSet set;
    std::vector<bool> bits(4000);
    for (int i = 0; i < 1500; ++i) {
      const std::uint64_t begin = rng.below(3900);
      const std::uint64_t end = begin + 1 + rng.below(round % 2 == 0 ? 3 : 60);
      set.add(begin, end);
      for (std::uint64_t b = begin; b < end; ++b)
        bits[b] = true;
    }
    const auto ranges = set.take();
    EXPECT_TRUE(set.is_exact());
    std::vector<bool> seen(4000);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (i > 0) {
        EXPECT_GT(ranges[i].begin, ranges[i - 1].end);
      }
      for (std::uint64_t b = ranges[i].begin; b < ranges[i].end; ++b)
        seen[b] = true;
    }
    EXPECT_EQ(seen, bits);
    EXPECT_EQ(as_ranges(as_rows(ranges)), ranges);
  }
}

TEST(ByteRanges, ASetOfTooManyRangesFillsNarrowGapsAndSaysSo) {
  ByteSet set;
  for (std::uint64_t i = 0; i < 20'000; ++i)
    set.add(i * 16 + (i % 100 == 0 ? 4 : 0), i * 16 + 8);
  EXPECT_FALSE(set.is_exact());
  const auto ranges = set.take();
  EXPECT_LE(ranges.size(), ByteSet::kMostRanges);
  EXPECT_EQ(ranges.front().begin, 4U);
  EXPECT_EQ(ranges.back().end, 19'999U * 16 + 8);
}

BlockRecord example() {
  BlockRecord record;
  record.buffers = {{1, 4096, 0, 0}, {2, 64, 1, 0}};
  record.maps = {{{{{0, 8, 2, 32}}, {}}, {{}, {{64, 4, 1, 0}}}}};
  TracedStep kernel{.kind = "kernel", .name = "_Z1kPf", .order = 3, .device = 0, .stream = "s"};
  kernel.started_ps = 100;
  kernel.finished_ps = 900;
  kernel.grid = {2, 1, 1};
  kernel.block = {128, 1, 1};
  kernel.pointers = {{0, 0, 1, 256}};
  kernel.numbers = {{1, -7}};
  kernel.touched = {{1, 0, false, {64, {5, kNoTime}, {kNoTime, 7}}}};
  TracedStep gather{.kind = "collective", .name = "ncclAllGather", .order = 4, .device = 1};
  gather.read = {{2, 0, 32}};
  gather.written = {{2, 0, 64}};
  record.steps = {kernel, gather};
  record.dropped_steps = 2;
  record.unnamed_bytes = 17;
  return record;
}

TEST(BlockRecord, IsReadAsItWasWritten) {
  const Json json = to_json(example());
  const auto read = read_block_record(json);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(to_json(*read), json);
  EXPECT_EQ(read->maps, example().maps);
  EXPECT_EQ(read->steps[0].touched[0].times.first_read[1], kNoTime);
  EXPECT_FALSE(read->steps[0].touched[0].is_exact);
  EXPECT_EQ(read->steps[0].numbers[0].value, -7);
}

TEST(BlockRecord, WhatDoesNotFitTogetherIsRefused) {
  const auto refused = [](const std::function<void(Json&)>& change) {
    Json json = to_json(example());
    change(json);
    return !read_block_record(json).has_value();
  };
  EXPECT_FALSE(refused([](Json&) {}));
  EXPECT_TRUE(refused([](Json& json) { json["steps"][0]["touched"][0]["map"] = 9; }));
  EXPECT_TRUE(refused([](Json& json) { json["steps"][0]["grid"] = {3, 1, 1}; }));
  EXPECT_TRUE(refused([](Json& json) { json["maps"][0]["read"][0][0] = 7; }));
  EXPECT_TRUE(refused([](Json& json) { json["maps"][0]["blocks"] = -1; }));
  EXPECT_TRUE(refused([](Json& json) { json["steps"][0]["touched"][0]["chunk_bytes"] = 0; }));
  EXPECT_TRUE(refused([](Json& json) { json["buffers"][0] = "none"; }));
  EXPECT_TRUE(refused([](Json& json) { json = Json::array(); }));
}

}  // namespace
}  // namespace cuco::vcluster
