// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "search/policy.h"
#include "search/race/forecast.h"
#include "search/selection/bandit.h"
#include "search/selection/keyed_rng.h"
#include "search/selection/parents.h"

namespace cuco::search {
namespace {
using candidate::Operation;

TEST(Parents, AreWeightedByThePublishedFormula) {
  const std::vector<ParentChoice> choices = {{1, 1.0, 0}, {2, 1.1, 1}, {3, 1.2, 0}};
  const auto weights = parent_weights(ParentRule::Weighted, choices);
  // The median is 1.1, the median distance from it 0.1.
  EXPECT_NEAR(weights[0], 1 / (1 + std::exp(10.0)), 1e-9);
  EXPECT_NEAR(weights[1], 0.5 / 2, 1e-9);
  EXPECT_NEAR(weights[2], 1 / (1 + std::exp(-10.0)), 1e-9);
}

TEST(Parents, AreWeightedByRankUnderThePowerLaw) {
  const std::vector<ParentChoice> choices = {{1, 1.0, 0}, {2, 1.5, 0}, {3, 1.2, 0}};
  EXPECT_EQ(parent_weights(ParentRule::PowerLaw, choices),
            (std::vector<double>{1.0 / 3, 1, 1.0 / 2}));
}

TEST(Parents, AreTheFastestOrAnyWhereThePolicySaysSo) {
  const std::vector<ParentChoice> choices = {{1, 1.0, 0}, {2, 1.5, 0}};
  EXPECT_EQ(parent_weights(ParentRule::Best, choices), (std::vector<double>{0, 1}));
  EXPECT_EQ(parent_weights(ParentRule::Random, choices), (std::vector<double>{1, 1}));
  EXPECT_TRUE(parent_weights(ParentRule::Weighted, {}).empty());
}

TEST(Parents, AreAllPossibleWhenTheyDoNotDiffer) {
  const std::vector<ParentChoice> choices = {{1, 1.3, 0}, {2, 1.3, 0}, {3, 1.3, 4}};
  for (const double weight : parent_weights(ParentRule::Weighted, choices))
    EXPECT_GT(weight, 0);
}

TEST(Drawing, FollowsTheWeights) {
  std::map<std::size_t, int> counts;
  Rng rng(3);
  const std::vector<double> weights = {0, 3, 1, 0};
  for (int i = 0; i < 4000; ++i)
    ++counts[draw(weights, rng)];
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_NEAR(counts[1], 3000, 150);
}

TEST(KeyedRng, DependsOnSeedDecisionAndPurposeAlone) {
  const auto first = [](std::uint64_t seed, std::uint64_t decision, Draw what) {
    return keyed_rng(seed, decision, what).next();
  };
  EXPECT_EQ(first(1, 2, Draw::Parent), first(1, 2, Draw::Parent));
  EXPECT_NE(first(1, 2, Draw::Parent), first(2, 2, Draw::Parent));
  EXPECT_NE(first(1, 2, Draw::Parent), first(1, 3, Draw::Parent));
  EXPECT_NE(first(1, 2, Draw::Parent), first(1, 2, Draw::Arm));
}

Arm arm(const char* proposer, Operation operation = Operation::Edit) {
  return {proposer, operation, "explore"};
}

TEST(Bandit, TriesEveryArmOnceThenPrefersTheOneThatGains) {
  const std::vector<Arm> arms = {arm("a"), arm("b"), arm("b", Operation::Repair)};
  Bandit bandit;
  std::map<std::size_t, int> counts;
  for (int i = 0; i < 300; ++i) {
    Rng rng = keyed_rng(1, static_cast<std::uint64_t>(i), Draw::Arm);
    const std::size_t chosen = bandit.choose(arms, rng);
    if (i < 3) {
      EXPECT_EQ(chosen, static_cast<std::size_t>(i));
    }
    ++counts[chosen];
    bandit.begin(arms[chosen]);
    bandit.end(arms[chosen], chosen == 1 ? 0.1 : 0, 0);
  }
  EXPECT_GT(counts[1], counts[0] + counts[2]);
  EXPECT_GT(counts[0], 10);
}

TEST(Bandit, CountsWhatIsOnItsWay) {
  const std::vector<Arm> arms = {arm("a"), arm("b")};
  Bandit bandit;
  Rng rng(1);
  EXPECT_EQ(bandit.choose(arms, rng), 0U);
  bandit.begin(arms[0]);
  EXPECT_EQ(bandit.choose(arms, rng), 1U);
  bandit.abandon(arms[0]);
  EXPECT_EQ(bandit.choose(arms, rng), 0U);
}

TEST(Bandit, PrefersTheCheaperOfEquals) {
  const std::vector<Arm> arms = {arm("dear"), arm("cheap")};
  Bandit bandit({.epsilon = 0});
  std::map<std::size_t, int> counts;
  for (int i = 0; i < 200; ++i) {
    Rng rng(static_cast<std::uint64_t>(i));
    const std::size_t chosen = bandit.choose(arms, rng);
    ++counts[chosen];
    bandit.begin(arms[chosen]);
    bandit.end(arms[chosen], 0.05, chosen == 0 ? 50'000 : 1'000);
  }
  EXPECT_GT(counts[1], 2 * counts[0]);
}

TEST(Forecast, BelievesTheSmallShapeUntilItIsTaughtOtherwise) {
  const Region lsa{.backend = design::Backend::Lsa};
  const Region gin{.backend = design::Backend::Gin};
  Forecast forecast;
  EXPECT_DOUBLE_EQ(forecast.expect(lsa, 1.3), 1.3);
  for (int i = 0; i < 9; ++i)
    forecast.learn(gin, 0.8, 1.6);
  EXPECT_NEAR(forecast.expect(gin, 0.7), 1.4, 1e-9);
  forecast.learn(lsa, 1.5, 1.5);
  // Its own pair, and one pair's worth of all.
  EXPECT_GT(forecast.expect(lsa, 1.0), 1.0);
  EXPECT_LT(forecast.expect(lsa, 1.0), forecast.expect(gin, 1.0));
  EXPECT_EQ(forecast.pairs(), 10);
}

TEST(Forecast, IsAsUnsureAsTheRungsHaveDisagreed) {
  const Region lsa{.backend = design::Backend::Lsa};
  const Region gin{.backend = design::Backend::Gin};
  Forecast agrees;
  Forecast disagrees;
  for (int i = 0; i < 8; ++i) {
    agrees.learn(gin, 1.0, 1.2);
    disagrees.learn(gin, 1.0, i % 2 == 0 ? 0.8 : 1.6);
  }
  EXPECT_LT(agrees.deviation(gin), 0.07);
  EXPECT_GT(disagrees.deviation(gin), 0.25);
  // Of another region less is known.
  EXPECT_GT(agrees.deviation(lsa), 2 * agrees.deviation(gin));
}

TEST(Policies, AreReadWithPartsSwitchedOff) {
  const auto policy = parse_policy("search, no-bandit,no-plans");
  ASSERT_TRUE(policy);
  EXPECT_FALSE(policy->bandit);
  EXPECT_FALSE(policy->plans);
  EXPECT_TRUE(policy->repair);
  EXPECT_EQ(parse_policy("best-of-n")->parents, ParentRule::Start);
  EXPECT_TRUE(parse_policy("random")->draws);
  EXPECT_FALSE(parse_policy("search")->draws);
  const auto unknown = parse_policy("serch");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("did you mean 'search'?"), std::string::npos);
  EXPECT_FALSE(parse_policy("search,no-thing"));
}

}  // namespace
}  // namespace cuco::search
