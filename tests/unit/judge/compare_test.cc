// SPDX-License-Identifier: Apache-2.0
#include "judge/oracle/compare.h"

#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace cuco::judge {
namespace {

constexpr workload::Tolerance kTight{1e-6, 0};

/// Element i of the reference is i, of scale 1.
const Reference kCounting = [](std::size_t first, std::span<double> want, std::span<double> scale) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    want[i] = static_cast<double>(first + i);
    scale[i] = 1;
  }
};

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i);
  return values;
}

Comparison check(const std::vector<float>& values, std::size_t limit) {
  return compare(std::as_bytes(std::span(values)), workload::Element::Fp32, kTight, kCounting, 1,
                 limit);
}

TEST(Compare, AcceptsWhatIsRight) {
  const Comparison result = check(counting(10'000), 1U << 20U);
  EXPECT_EQ(result.wrong, 0);
  EXPECT_EQ(result.checked, 10'000);
}

TEST(Compare, NamesTheFirstWrongElement) {
  auto values = counting(10'000);
  values[7000] = -1;
  values[4321] = 4322;
  const Comparison result = check(values, 1U << 20U);
  EXPECT_EQ(result.wrong, 2);
  EXPECT_EQ(result.index, 4321);
  EXPECT_EQ(result.got, 4322);
  EXPECT_EQ(result.want, 4321);
}

TEST(Compare, NothingThatIsNotFiniteIsRight) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const workload::Tolerance loose{1e9, 1e9};
  EXPECT_FALSE(is_right(nan, nan, 1, loose));
  EXPECT_FALSE(is_right(infinity, infinity, 1, loose));
  EXPECT_FALSE(is_right(1, nan, 1, loose));
}

TEST(Compare, DenormalNumbersAreAsGoodAsTheirTypeHasThem) {
  const workload::Tolerance tight{1e-6, 0};
  const double want = 9.0927935e-41;
  const double got = static_cast<float>(want);
  const double step = least_step(workload::Element::Fp32);
  EXPECT_FALSE(is_right(got, want, 0, tight));
  EXPECT_TRUE(is_right(got, want, 0, tight, step));
  EXPECT_FALSE(is_right(0, want, 0, tight, step));
  EXPECT_FALSE(is_right(want * 1.01, want, 0, tight, step));
}

TEST(Compare, SamplingStillSeesEveryElementThatWasNeverWritten) {
  auto values = counting(100'000);
  for (std::size_t i = 0; i < values.size(); i += 997) {
    const float kept = std::exchange(values[i], std::numeric_limits<float>::quiet_NaN());
    const Comparison result = check(values, 1024);
    EXPECT_EQ(result.wrong, 1) << i;
    EXPECT_EQ(result.index, static_cast<std::int64_t>(i));
    EXPECT_LT(result.checked, 2000);
    values[i] = kept;
  }
}

TEST(Compare, WhereItSamplesIsInTheSeedAlone) {
  std::set<std::int64_t> first_seen;
  const auto wrong = std::vector<float>(100'000, -1);
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Comparison result = compare(std::as_bytes(std::span(wrong)), workload::Element::Fp32,
                                      kTight, kCounting, seed, 1024);
    first_seen.insert(result.index);
  }
  EXPECT_GT(first_seen.size(), 40U);
}

TEST(Compare, SamplingSeesAnyContiguousPartOfFourTimesItsSpacing) {
  auto values = counting(100'000);
  for (std::size_t i = 30'000; i < 50'000; ++i)
    values[i] = 0;
  EXPECT_GT(check(values, 1024).wrong, 0);
}

TEST(Compare, Bf16RoundsToNearestEven) {
  std::vector<std::byte> bytes(4);
  store_element(bytes, 0, workload::Element::Bf16, 1.0 + 1.0 / 256);  // half-way: down to even
  store_element(bytes, 1, workload::Element::Bf16, 1.0 + 3.0 / 256);  // half-way: up to even
  EXPECT_EQ(load_element(bytes, 0, workload::Element::Bf16), 1.0);
  EXPECT_EQ(load_element(bytes, 1, workload::Element::Bf16), 1.0 + 4.0 / 256);
}

TEST(CompareWith, AllowsTwiceTheToleranceAndSeesEveryElement) {
  constexpr workload::Tolerance kTolerance{0.01, 0.001};
  const std::vector<float> want = {1, 2, 3, 4};
  const std::vector<float> scale = {1, 1, 1, 100};
  const auto result = [&](std::vector<float> got) {
    return compare_with(std::as_bytes(std::span(got)), workload::Element::Fp32, kTolerance, want,
                        scale);
  };
  EXPECT_EQ(result({1.02F, 2, 3, 4.27F}).wrong, 0);
  const Comparison found = result({1, 2, 3.07F, 4.29F});
  EXPECT_EQ(found.checked, 4);
  EXPECT_EQ(found.wrong, 2);
  EXPECT_EQ(found.index, 2);
  EXPECT_EQ(result({1, 2, NAN, 4}).wrong, 1);
}

TEST(FirstUnlike, SeesTheOneElementThatBothCannotBeRightAbout) {
  constexpr workload::Tolerance kTolerance{0.01, 0.001};
  const std::vector<float> seed = {1, -2, 3, 4};
  const auto found = [&](std::vector<float> got) {
    return first_unlike(std::as_bytes(std::span(got)), std::as_bytes(std::span(seed)),
                        workload::Element::Fp32, kTolerance, 1);
  };
  EXPECT_EQ(found({1.01F, -2.01F, 3, 4}), std::nullopt);
  EXPECT_EQ(found({1, -2, 3, 4.5F}), 3U);
  EXPECT_EQ(found({1, 2, 3, 4.5F}), 1U);
  EXPECT_EQ(found({1, -2, NAN, 4}), 2U);
}

}  // namespace
}  // namespace cuco::judge
