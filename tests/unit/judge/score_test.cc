// SPDX-License-Identifier: Apache-2.0
#include "judge/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::judge {
namespace {

using ::testing::HasSubstr;

candidate::ShapeTime timed(double seconds) {
  return {.shape = "large", .seconds = seconds, .speedup = {2, 2}, .baseline_seconds = 2e-3};
}

TEST(Score, TheTimeUnderTheEyesOfTheCheckerCountsWhereItIsLonger) {
  candidate::ShapeTime time = timed(1e-3);
  const auto warning = count_watched(4e-3, &time);
  ASSERT_TRUE(warning);
  EXPECT_THAT(*warning, HasSubstr("where it is timed and"));
  EXPECT_DOUBLE_EQ(time.seconds, 4e-3);
  EXPECT_DOUBLE_EQ(time.speedup.low, 0.5);
  EXPECT_DOUBLE_EQ(time.speedup.high, 0.5);
}

TEST(Score, OtherBuffersMayMakeALittleDifference) {
  for (const double watched : {0.0, 0.5e-3, 1e-3, 1.02e-3}) {
    candidate::ShapeTime time = timed(1e-3);
    EXPECT_FALSE(count_watched(watched, &time));
    EXPECT_DOUBLE_EQ(time.seconds, 1e-3);
  }
}

}  // namespace
}  // namespace cuco::judge
