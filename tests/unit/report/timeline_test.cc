// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/page/pictures.h"
#include "report/timeline/rank_timeline.h"

namespace cuco::report {
namespace {
using testing::HasSubstr;
using testing::Not;

std::string process(int pid, std::string_view name) {
  return fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"{}"}}}},)", pid,
                     name);
}
std::string slice(
    int pid, std::string_view category, std::string_view name, double at, double for_) {
  return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":1,"ts":{},"dur":{}}},)",
                     category, name, pid, at, for_);
}
std::string trace(const std::string& events) {
  return R"({"traceEvents":[)" + events + R"({"ph":"i"}]})";
}

TEST(Timeline, HasALaneForEachActivityOfEachRank) {
  const auto made = timeline_of_trace(
      trace(process(1, "seed: GPU 0") + process(2, "candidate: GPU 1") + process(3, "seed: host") +
            slice(1, "kernel", "gemm", 0, 5) + slice(1, "collective", "ncclAllGather", 5, 7) +
            slice(2, "store", "64 KiB", 1, 2) + slice(2, "put", "64 KiB", 3, 1) +
            slice(3, "call", "cudaLaunch", 0, 1) + slice(9, "kernel", "of nobody", 0, 99)));
  ASSERT_TRUE(made) << made.error().message();
  ASSERT_EQ(made->programs.size(), 2U);
  EXPECT_EQ(made->programs[0].program, "seed");
  EXPECT_EQ(made->programs[0].length(), 12);
  ASSERT_EQ(made->programs[0].ranks.size(), 1U);
  EXPECT_EQ(made->programs[0].ranks[0].lanes.size(), 2U);
  const auto& sends = made->programs[1].ranks[0];
  EXPECT_EQ(sends.rank, 1);
  // One after the other and of the same name: one stretch.
  EXPECT_EQ(sends.lanes[0], (Lane{Activity::Send, {{1, 4, "64 KiB"}}}));
}

TEST(Timeline, ShowsManySlicesInFewStretches) {
  std::string events = process(1, "GPU 0");
  for (int i = 0; i < 20000; ++i)
    events += slice(1, "wait", i % 2 == 0 ? "a" : "b", i * 10, 3);
  const auto made = timeline_of_trace(trace(events));
  ASSERT_TRUE(made);
  const auto& lane = made->programs[0].ranks[0].lanes[0];
  EXPECT_LE(lane.stretches.size(), 300U);
  EXPECT_EQ(lane.stretches.front().begin, 0);
  EXPECT_EQ(lane.stretches.back().end, 199993);
}

TEST(Timeline, IsReadAsItWasWritten) {
  Timeline timeline{7, {{"seed", {{2, {{Activity::Wait, {{0.5, 1.25, "x:1"}}}}}}}}};
  const auto read = parse_timeline(to_json(timeline));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, timeline);
  EXPECT_FALSE(parse_timeline("[]"));
  EXPECT_FALSE(parse_timeline(R"({"programs":[{"ranks":[{"lanes":[{"activity":"wait",
      "stretches":[[1,"x"]]}]}]}]})"));
  EXPECT_FALSE(timeline_of_trace("{}"));
}

TEST(Timeline, IsAPictureThatNobodyWritesInto) {
  const Timeline timeline{1, {{"<b>", {{0, {{Activity::Kernel, {{0, 2, "</title><script>"}}}}}}}}};
  const auto picture = timeline_picture(timeline);
  EXPECT_THAT(picture, HasSubstr("class=\"at-kernel\""));
  EXPECT_THAT(picture, HasSubstr("rank 0"));
  EXPECT_THAT(picture, Not(HasSubstr("<script")));
  EXPECT_THAT(picture, Not(HasSubstr("<b>")));
  EXPECT_EQ(timeline_picture({}), "");
}

}  // namespace
}  // namespace cuco::report
