// SPDX-License-Identifier: Apache-2.0
// Whole searches on recorded verdicts: policies against the baselines on the same budget.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "search/landscape/simulation.h"
#include "store/memory_store.h"

namespace cuco::search {
namespace {
using design::Backend;
using design::Placement;
using design::SyncScope;

/// What a model might have proposed: designs whose dimensions each help or hurt, the same on every
/// neighbour, with some that do not work. `kind` draws another landscape.
candidate::RunState recorded(std::uint64_t kind) {
  candidate::RunState run;
  run.started = candidate::RunStarted{.hardware = "4 x H200"};
  Rng rng(kind);
  double help[4][6];
  for (auto& dimension : help) {
    for (double& value : dimension)
      value = 0.7 + 0.6 * rng.uniform();
  }
  const auto add = [&](const design::Directive& directive, double speedup, bool works) {
    candidate::Entry entry;
    entry.candidate.number = static_cast<int>(run.entries.size());
    entry.candidate.code_hash = std::to_string(run.entries.size());
    entry.candidate.source = program::single_file("program.cu", entry.candidate.code_hash);
    entry.candidate.directive = directive;
    entry.candidate.lineage = {.proposer = "model:m", .phase = "explore"};
    const candidate::Outcome outcome =
        works ? candidate::Outcome(
                    candidate::Scored{.seconds = 1e-3 / speedup, .baseline_seconds = 1e-3})
              : candidate::Outcome(candidate::WrongResult{});
    entry.outcomes.emplace(candidate::Rung{}, outcome);
    run.entries.push_back(std::move(entry));
  };
  add({}, 1, true);
  for (int backend = 0; backend < 4; ++backend) {
    for (int placement = 0; placement < 5; ++placement) {
      for (int chunk = 0; chunk < 6; ++chunk) {
        design::Directive directive{static_cast<Backend>(backend),
                                    static_cast<Placement>(placement), SyncScope::PerPeerSignal};
        directive.issuer.count = 1 << chunk;
        add(directive,
            help[0][backend] * help[1][placement] * help[2][chunk] * (0.98 + 0.04 * rng.uniform()),
            rng.uniform() > 0.2);
      }
    }
  }
  return run;
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

TEST(Simulation, IsSeldomBehindTheMedianOfRandomAndOfBestOfNOnTheSameBudget) {
  int level_with_random = 0;
  int level_with_best_of_n = 0;
  for (std::uint64_t kind = 1; kind <= 5; ++kind) {
    Landscape landscape;
    ASSERT_TRUE(landscape.add(recorded(kind)));
    const double searched = median_of(speedups(landscape, "search", 30));
    const double random = median_of(speedups(landscape, "random", 30));
    const double best_of_n = median_of(speedups(landscape, "best-of-n", 30));
    level_with_random += searched >= random ? 1 : 0;
    level_with_best_of_n += searched >= best_of_n ? 1 : 0;
    RecordProperty("kind_" + std::to_string(kind),
                   std::to_string(searched) + " " + std::to_string(random) + " " +
                       std::to_string(best_of_n) + " of " + std::to_string(landscape.best()));
  }
  EXPECT_GE(level_with_random, 4);
  EXPECT_GE(level_with_best_of_n, 4);
}

}  // namespace
}  // namespace cuco::search
