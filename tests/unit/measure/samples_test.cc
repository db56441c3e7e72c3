// SPDX-License-Identifier: Apache-2.0
#include "measure/samples.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "measure/paired_test.h"

namespace cuco::measure {
namespace {

TEST(LeftRunning, IsWhatTheGpuDoesAfterDone) {
  const auto after = [](std::initializer_list<double> microseconds) {
    std::vector<Sample> samples;
    for (const double us : microseconds)
      samples.push_back({.seconds = 1e-4, .after_seconds = us * 1e-6});
    return samples;
  };
  EXPECT_EQ(left_running(after({146, 147, 151}), after({145, 150, 149})), 0);
  EXPECT_EQ(left_running(after({146, 147, 151}), after({100, 90, 95})), 0);
  EXPECT_NEAR(left_running(after({146, 147, 151}), after({170, 150, 167})), 20e-6, 1e-9);
  EXPECT_EQ(left_running({}, {}), 0);
}

TEST(SampleFilter, DropsWhatTheDriverCallsThrottled) {
  SampleFilter filter;
  EXPECT_EQ(filter.look_at({.seconds = 1, .clock_mhz = 1980}), Quality::Good);
  EXPECT_EQ(filter.look_at({.seconds = 1, .clock_mhz = 1980, .throttled = true}),
            Quality::Throttled);
  EXPECT_EQ(filter.look_at({.seconds = 1, .clock_mhz = 1500}), Quality::Throttled);
  EXPECT_EQ(filter.look_at({.seconds = 1, .clock_mhz = 1900}), Quality::Good);
  EXPECT_EQ(filter.throttled(), 2U);
  EXPECT_EQ(filter.samples().size(), 4U);
}

TEST(SampleFilter, DropsWhatSomebodyElseDisturbed) {
  SampleFilter filter;
  EXPECT_EQ(filter.look_at({.seconds = 1, .probe_seconds = 1e-5}), Quality::Good);
  EXPECT_EQ(filter.look_at({.seconds = 1, .probe_seconds = 2e-5}), Quality::Disturbed);
  EXPECT_EQ(filter.disturbed(), 1U);
}

TEST(SampleFilter, NeverLooksAtTheTimeItself) {
  SampleFilter filter;
  for (const double seconds : {1e-6, 1.0, 1e6})
    EXPECT_EQ(filter.look_at({.seconds = seconds, .clock_mhz = 1980}), Quality::Good);
}

/// One normal value by the sum of twelve uniform ones.
double about_normal(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i)
    sum += static_cast<double>(rng.below(1U << 30U)) / (1U << 30U);
  return sum;
}

TEST(SampleFilter, KeepsThePairedTestHonestOnAThrottlingGpu) {
  // A null comparison on a GPU that throttles one sample in five, by 30 %: with the filter the test
  // keeps its alpha.
  int promotions = 0;
  for (std::uint64_t run = 0; run < 1000; ++run) {
    Rng rng(run + 1);
    SampleFilter filter;
    PairedTest test({.alpha = 0.05});
    while (test.decision() == Decision::Continue) {
      const auto sample = [&] {
        const bool hot = rng.below(5) == 0;
        return Sample{.seconds = (hot ? 1.3 : 1.0) * (1 + 0.01 * about_normal(rng)),
                      .clock_mhz = hot ? 1400.0 : 1980.0};
      };
      const Sample one = sample();
      const Sample other = sample();
      const bool good = filter.look_at(one) == Quality::Good;
      if (filter.look_at(other) == Quality::Good && good) test.add(one.seconds, other.seconds);
    }
    promotions += test.decision() == Decision::Promote ? 1 : 0;
    EXPECT_GT(filter.throttled(), 0U);
  }
  EXPECT_LE(promotions, 50);
}

}  // namespace
}  // namespace cuco::measure
