// SPDX-License-Identifier: Apache-2.0
#include "measure/speed_of_light.h"

#include <gtest/gtest.h>

namespace cuco::measure {
namespace {

TEST(SpeedOfLight, IsTheLongestOfWhatCanOverlap) {
  const Peak peak = {1e12, 1e12, 1e11, 1e-6};
  const Bound links = speed_of_light({1e6, 1e6, 1e6}, peak);
  EXPECT_DOUBLE_EQ(links.seconds, 1.1e-5);
  EXPECT_EQ(links.limited_by, "links");
  EXPECT_EQ(speed_of_light({5e9, 1e6, 0}, peak).limited_by, "math");
  EXPECT_EQ(speed_of_light({1e6, 5e9, 0}, peak).limited_by, "HBM");
  EXPECT_DOUBLE_EQ(speed_of_light({1e6, 5e9, 0}, peak).seconds, 5e-3)
      << "no latency without a message";
}

TEST(SpeedOfLight, NothingEndsBeforeOneKernelHasStarted) {
  const Peak peak = {1e12, 1e12, 1e11, 1e-6, 2e-6};
  EXPECT_DOUBLE_EQ(speed_of_light({1e6, 5e9, 0}, peak).seconds, 5e-3 + 2e-6);
  EXPECT_EQ(speed_of_light({1e3, 1e5, 0}, peak).limited_by, "launch");
}

TEST(Score, IsAHalfAtTheBaselineAndOneAtTheBound) {
  EXPECT_DOUBLE_EQ(score(10, 10, 2), 0.5);
  EXPECT_DOUBLE_EQ(score(2, 10, 2), 1);
  EXPECT_GT(score(6, 10, 2), 0.5);
  EXPECT_LT(score(20, 10, 2), 0.5);
}

TEST(Score, IsClampedBelowTheBoundWhichIsARedFlag) {
  EXPECT_DOUBLE_EQ(score(1, 10, 2), 1);
  EXPECT_TRUE(is_too_fast(1, 2));
  EXPECT_FALSE(is_too_fast(1.99, 2));
}

TEST(Score, ABaselineAtTheBoundLeavesNothingToWin) {
  EXPECT_DOUBLE_EQ(score(2, 2, 2), 1);
  EXPECT_DOUBLE_EQ(score(3, 2, 2), 0);
}

}  // namespace
}  // namespace cuco::measure
