// SPDX-License-Identifier: Apache-2.0
#include "run/delay_probe.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/profile_view.h"
#include "targets/virtual/run_trace.h"

namespace cuco::run {
namespace {

constexpr std::uint64_t kSignal = 64;
constexpr std::uint64_t kCredit = 256;

Json delivery(std::int64_t sent, std::int64_t arrived, std::uint64_t address = kSignal) {
  return {{"address", address},
          {"bytes", 8},
          {"sent_ps", sent},
          {"arrived_ps", arrived},
          {"is_completion", address == kCredit}};
}

/// A launch that looks at a word from `first` to `last`.
Json launch(std::int64_t first, std::int64_t last, std::uint64_t word = kSignal, int line = 541) {
  return {{"kernel", "wait"},
          {"device", 1},
          {"waits",
           {{{"file", "/a/moe.cu"},
             {"line", line},
             {"first_ps", first},
             {"last_ps", last},
             {"addresses", {word}}}}}};
}

Json report(const std::vector<Json>& launches, const std::vector<Json>& deliveries) {
  return {{"phases", launches}, {"deliveries", deliveries}};
}

TEST(DelayProbe, AWaitThatAnArrivalEndsWaits) {
  const auto waits = probe_waits(report({launch(100, 300)}, {delivery(50, 250)}),
                                 report({launch(100, 1300)}, {delivery(50, 1250)}));
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].for_arrivals, 1);
  EXPECT_FALSE(waits[0].is_suspect());
  EXPECT_EQ(waits[0].plain_ps, 200);
  EXPECT_EQ(waits[0].delayed_ps, 1200);
}

TEST(DelayProbe, AWaitThatEndsBeforeTheDeliveryIsNamed) {
  const auto waits = probe_waits(report({launch(100, 300)}, {delivery(50, 250)}),
                                 report({launch(100, 300)}, {delivery(50, 1250)}));
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_TRUE(waits[0].is_suspect());
  EXPECT_EQ(waits[0].where, "moe.cu:541");
}

TEST(DelayProbe, NothingOnItsWayIsNoSuspicion) {
  const Json late = report({launch(2900, 3000)}, {delivery(50, 1250)});
  EXPECT_FALSE(probe_waits(late, late)[0].is_suspect());
}

TEST(DelayProbe, WhatAnEarlierPhaseRaisedIsNamed) {
  // The first delivery is the warm-up's; the wait is for the second, and takes the first for it.
  const Json late = report({launch(5000, 5010)}, {delivery(0, 1000), delivery(4900, 5900)});
  EXPECT_TRUE(probe_waits(late, late)[0].is_suspect());
}

TEST(DelayProbe, TheNextTurnsDeliveryMayBeOnItsWay) {
  // The sender is ahead by one: each launch has its own, and the next is in flight.
  const Json late = report({launch(2000, 2010), launch(3000, 3010), launch(5000, 5010)},
                           {delivery(0, 1000), delivery(1500, 2500), delivery(2900, 3900)});
  const auto waits = probe_waits(late, late);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].launches, 3);
  EXPECT_FALSE(waits[0].is_suspect());
}

TEST(DelayProbe, ALineThatDemandsMoreEachTimeIsNotNamed) {
  // A credit: the first wait needs none, and each later one what the turn before it sent.
  const auto run = [](int accept_the_last) {
    std::vector<Json> launches = {launch(100, 110), launch(1200, 1210), launch(2300, 2310)};
    for (std::size_t i = 1; i < launches.size(); ++i) {
      launches[i]["waits"][0]["repeated"] = 1;
      launches[i]["waits"][0]["accept_the_last"] = accept_the_last;
    }
    const std::vector<Json> sent = {delivery(50, 1150), delivery(1150, 2250), delivery(2250, 3350)};
    return report(launches, sent);
  };
  EXPECT_FALSE(probe_waits(run(0), run(0))[0].is_suspect());
  EXPECT_TRUE(probe_waits(run(1), run(1))[0].is_suspect());
}

TEST(DelayProbe, ACompletionOfOwnPutsIsNoArrival) {
  // A flush, which a completion ends, and behind it a wait that does not wait.
  const Json late = report({launch(100, 400, kCredit, 540), launch(400, 410)},
                           {delivery(50, 350, kCredit), delivery(50, 1250)});
  const auto waits = probe_waits(late, late);
  ASSERT_EQ(waits.size(), 2U);
  EXPECT_EQ(waits[0].for_completions, 1);
  EXPECT_EQ(waits[0].for_arrivals, 0);
  EXPECT_FALSE(waits[0].is_suspect());
  EXPECT_TRUE(waits[1].is_suspect());
}

TEST(DelayProbe, LinesThatReadWhatNobodyDeliversAreNoWaits) {
  const Json late = report({launch(100, 300, 4096)}, {delivery(50, 1250)});
  EXPECT_TRUE(probe_waits(late, late).empty());
}

TEST(DelayProbe, LaunchesOfOneLineAreOneRow) {
  std::vector<Json> launches;
  std::vector<Json> deliveries;
  for (std::int64_t i = 0; i < 240; ++i) {
    launches.push_back(launch(i * 10'000, i * 10'000 + 1100));
    deliveries.push_back(delivery(i * 10'000, i * 10'000 + 1000));
  }
  const auto waits = probe_waits(report(launches, deliveries), report(launches, deliveries));
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].for_arrivals, 240);
}

TEST(Profile, NamesOfKernelsAreReadable) {
  EXPECT_EQ(targets::kernel_name("_ZN12_GLOBAL__N_14sendEi"), "send");
  EXPECT_EQ(targets::kernel_name("_Z4fillPii"), "fill");
  EXPECT_EQ(targets::kernel_name("plain"), "plain");
}

TEST(DelayProbe, ReadsTimes) {
  EXPECT_EQ(*ProbeFlags{"100ms"}.delay_ps(), 100'000'000'000);
  EXPECT_EQ(*ProbeFlags{"2.5us"}.delay_ps(), 2'500'000);
  EXPECT_FALSE(ProbeFlags{"soon"}.delay_ps().has_value());
  EXPECT_FALSE(ProbeFlags{"5"}.delay_ps().has_value());
}

}  // namespace
}  // namespace cuco::run
