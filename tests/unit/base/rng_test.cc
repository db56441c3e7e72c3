// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace cuco {
namespace {

TEST(Rng, SameSeedSameSequenceOnEveryMachine) {
  Rng rng(0);
  // The published first outputs of SplitMix64 from state 0.
  EXPECT_EQ(rng.next(), 0xE220A8397B1DCDAFULL);
  EXPECT_EQ(rng.next(), 0x6E789E6AA1B965F4ULL);
}

TEST(Rng, BelowIsInRangeAndEven) {
  Rng rng(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i)
    ++counts.at(rng.below(7));
  for (const int count : counts)
    EXPECT_NEAR(count, 10'000, 500);
}

TEST(Rng, UniformStaysInHalfOpenInterval) {
  Rng rng(2);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double x = rng.uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    sum += x;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(Rng, SplitsDoNotRepeatEachOther) {
  Rng root(3);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 100; ++i) {
    Rng child = root.split();
    for (int k = 0; k < 100; ++k)
      seen.insert(child.next());
  }
  EXPECT_EQ(seen.size(), 10'000U);
}

}  // namespace
}  // namespace cuco
