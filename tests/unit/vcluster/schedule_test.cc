// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <gtest/gtest.h>

#include "vcluster/core/cluster_schedule.h"

namespace cuco::vcluster {
namespace {

TEST(Schedule, SeedZeroIsThePlainOne) {
  const Schedule plain = make_schedule(0, 4);
  EXPECT_TRUE(plain.is_plain());
  EXPECT_TRUE(plain.gpus.empty());
  EXPECT_EQ(plain.copy_delay + plain.delivery_delay + plain.host_skew + plain.call_delay, 0);
  EXPECT_EQ(plain.stale_percent, 0U);
}

TEST(Schedule, TheSameSeedIsTheSameSchedule) {
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    const Schedule a = make_schedule(seed, 3);
    const Schedule b = make_schedule(seed, 3);
    EXPECT_EQ(a.describe(), b.describe());
    ASSERT_EQ(a.gpus.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(a.gpus[i].seed, b.gpus[i].seed);
      EXPECT_NE(a.gpus[i].seed, 0U);
    }
  }
}

TEST(Schedule, SeedsDiffer) {
  std::set<std::string> texts;
  for (std::uint64_t seed = 1; seed < 40; ++seed)
    texts.insert(make_schedule(seed, 4).describe());
  EXPECT_GT(texts.size(), 25U);
}

TEST(Adversary, HostDelaysDependOnTheThreadAlone) {
  Schedule schedule = make_schedule(3, 2);
  schedule.host_skew = 1'000'000;
  schedule.call_delay = 1'000'000;
  const Adversary a(schedule);
  const Adversary b(schedule);
  EXPECT_EQ(a.host_skew(1, 0), b.host_skew(1, 0));
  EXPECT_EQ(a.call_delay(1, 0, 7), b.call_delay(1, 0, 7));
  EXPECT_NE(a.host_skew(0, 0), a.host_skew(1, 0));
}

}  // namespace
}  // namespace cuco::vcluster
