// SPDX-License-Identifier: Apache-2.0
// Whole searches on recorded verdicts: policies against the baselines on the same budget.
#include <gtest/gtest.h>

#include "../../fakes/synthetic_run.h"
#include "search/landscape/simulation.h"
#include "store/memory_store.h"

namespace cuco::search {
namespace {

candidate::RunState recorded(std::uint64_t kind) {
  return fakes::synthetic_run({.kind = kind});
}

std::vector<double> speedups(const Landscape& landscape, const char* policy, int candidates) {
  const ManualClock clock;
  std::vector<double> list;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    store::MemoryStore store(clock);
    const auto made = simulate(landscape, *parse_policy(policy), seed, candidates, store);
    EXPECT_TRUE(made) << made.error().message();
    list.push_back(made->speedup);
  }
  return list;
}

TEST(Landscape, HoldsWhatWasJudgedOnce) {
  Landscape landscape;
  const auto run = recorded(1);
  ASSERT_TRUE(landscape.add(run));
  EXPECT_EQ(landscape.points().size(), run.entries.size() - 1);
  ASSERT_TRUE(landscape.add(run));
  EXPECT_EQ(landscape.points().size(), run.entries.size() - 1);
  EXPECT_GT(landscape.best(), 1.1);
  EXPECT_EQ(Landscape::point_of(Landscape::text_of(17)), 17);
  EXPECT_EQ(Landscape::point_of("seed"), -1);
}

TEST(Landscape, RefusesRunsThatDoNotCompare) {
  Landscape landscape;
  ASSERT_TRUE(landscape.add(recorded(1)));
  auto elsewhere = recorded(1);
  elsewhere.started->hardware = "8 x A100";
  EXPECT_FALSE(landscape.add(elsewhere));
  EXPECT_FALSE(Landscape().add({}));
}

TEST(Simulation, GivesTheSameForTheSameSeed) {
  Landscape landscape;
  ASSERT_TRUE(landscape.add(recorded(2)));
  EXPECT_EQ(speedups(landscape, "search", 24), speedups(landscape, "search", 24));
}

TEST(Simulation, FindsTheBestWhereTheBudgetCoversEverything) {
  Landscape landscape;
  ASSERT_TRUE(landscape.add(recorded(3)));
  const ManualClock clock;
  store::MemoryStore store(clock);
  const auto made = simulate(landscape, {}, 1, 400, store);
  ASSERT_TRUE(made);
  EXPECT_DOUBLE_EQ(made->speedup, landscape.best());
  EXPECT_GT(made->to_within_1, 0);
}

TEST(Simulation, BeatsTheMediansOfRandomAndOfBestOfNOnTheSameBudget) {
  int beats_random = 0;
  int beats_best_of_n = 0;
  int least_with_forecast = 0;
  for (std::uint64_t kind = 1; kind <= 5; ++kind) {
    Landscape landscape;
    ASSERT_TRUE(landscape.add(recorded(kind)));
    const double searched = median_of(speedups(landscape, "search", 30));
    const double random = median_of(speedups(landscape, "random", 30));
    const double best_of_n = median_of(speedups(landscape, "best-of-n", 30));
    beats_random += searched > random ? 1 : 0;
    beats_best_of_n += searched > best_of_n ? 1 : 0;
    least_with_forecast +=
        searched >= median_of(speedups(landscape, "search,no-forecast", 30)) ? 1 : 0;
    RecordProperty("kind_" + std::to_string(kind),
                   std::to_string(searched) + " " + std::to_string(random) + " " +
                       std::to_string(best_of_n) + " of " + std::to_string(landscape.best()));
  }
  EXPECT_GE(beats_random, 4);
  EXPECT_GE(beats_best_of_n, 4);
  EXPECT_GE(least_with_forecast, 4);
}

}  // namespace
}  // namespace cuco::search
