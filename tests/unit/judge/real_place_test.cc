// SPDX-License-Identifier: Apache-2.0
#include "judge/real_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::judge {
namespace {

using candidate::TargetKind;
using ::testing::HasSubstr;

TEST(RealPlace, AGpuJudgesOneRank) {
  EXPECT_TRUE(check_real_work({TargetKind::Gpu, "silu", 1}));
  const auto four = check_real_work({TargetKind::Gpu, "gemm", 4});
  ASSERT_FALSE(four);
  EXPECT_EQ(four.error().kind(), ErrorKind::InvalidInput);
  EXPECT_THAT(four.error().message(), HasSubstr("gemm has 4 ranks"));
}

TEST(RealPlace, WhereTheRulesCannotBeKeptNothingIsJudged) {
  for (const TargetKind place : {TargetKind::Loopback, TargetKind::Cluster}) {
    const auto refused = check_real_work({place, "gemm", 4});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorKind::Unavailable);
    EXPECT_THAT(refused.error().message(), HasSubstr("--on virtual"));
  }
  EXPECT_THAT(check_real_work({TargetKind::Loopback, "silu", 1}).error().message(),
              HasSubstr("--on gpu"));
}

TEST(RealPlace, TheGpuIsOnePersonsAtATime) {
  const auto folder = system::TempFolder::create("gpu-lock");
  ASSERT_TRUE(folder);
  {
    const auto mine = lock_gpu(folder->path());
    ASSERT_TRUE(mine);
    const auto other = lock_gpu(folder->path());
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message(), HasSubstr("another cuco measures"));
  }
  EXPECT_TRUE(lock_gpu(folder->path()));
}

}  // namespace
}  // namespace cuco::judge
