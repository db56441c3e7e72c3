// SPDX-License-Identifier: Apache-2.0
#include "run/delay_probe.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/profile_view.h"

namespace cuco::run {
namespace {

Json report(std::int64_t finished, std::int64_t arrived) {
  return {
      {"phases",
       {{{"kernel", "wait"},
         {"device", 1},
         {"started_ps", 100},
         {"finished_ps", finished},
         {"waits", {{{"file", "/a/moe.cu"}, {"line", 541}, {"polls", 3}, {"addresses", {64}}}}}}}},
      {"deliveries", {{{"address", 64}, {"bytes", 8}, {"sent_ps", 50}, {"arrived_ps", arrived}}}}};
}

TEST(DelayProbe, AWaitThatGrowsWithTheDelayWaits) {
  const auto phases = probe_phases(report(300, 250), report(1290, 1250), 1000);
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_TRUE(phases[0].waited);
  EXPECT_FALSE(phases[0].is_suspect());
}

TEST(DelayProbe, AWaitThatEndsBeforeTheDeliveryIsNamed) {
  const auto phases = probe_phases(report(300, 250), report(300, 1250), 1000);
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_TRUE(phases[0].is_suspect());
  EXPECT_EQ(phases[0].missed.front(), "moe.cu:541");
}

TEST(DelayProbe, NothingOnItsWayIsNoSuspicion) {
  EXPECT_FALSE(probe_phases(report(3000, 250), report(3000, 1250), 1000)[0].is_suspect());
}

TEST(Profile, NamesOfKernelsAreReadable) {
  EXPECT_EQ(kernel_name("_ZN12_GLOBAL__N_14sendEi"), "send");
  EXPECT_EQ(kernel_name("_Z4fillPii"), "fill");
  EXPECT_EQ(kernel_name("plain"), "plain");
}

TEST(DelayProbe, ReadsTimes) {
  EXPECT_EQ(*ProbeFlags{"100ms"}.delay_ps(), 100'000'000'000);
  EXPECT_EQ(*ProbeFlags{"2.5us"}.delay_ps(), 2'500'000);
  EXPECT_FALSE(ProbeFlags{"soon"}.delay_ps().has_value());
  EXPECT_FALSE(ProbeFlags{"5"}.delay_ps().has_value());
}

}  // namespace
}  // namespace cuco::run
