// SPDX-License-Identifier: Apache-2.0
// The promise is about luck, so the tests simulate it: many searches, many looks, known truths.
#include "measure/paired_test.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace cuco::measure {
namespace {

double normal(Rng& rng) {
  const double u = 1 - rng.uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * rng.uniform());
}

struct Simulated {
  Decision decision = Decision::Continue;
  std::size_t pairs = 0;
};

Simulated compare(Rng& rng, double gain, double noise, const PairedTest::Rules& rules) {
  PairedTest test(rules);
  while (test.decision() == Decision::Continue) {
    test.add(1e-3 * (1 + gain) * (1 + noise * normal(rng)), 1e-3 * (1 + noise * normal(rng)));
  }
  return {test.decision(), test.pairs()};
}

TEST(PairedTest, PromotesNothingWhereNothingDiffers) {
  for (const double noise : {0.002, 0.01, 0.05}) {
    Rng rng(7);
    PairedTest::Rules rules;
    rules.minimum_gain = 0;  // the hardest case: the truth lies on the border
    int promoted = 0;
    for (int i = 0; i < 1000; ++i) {
      promoted += compare(rng, 0, noise, rules).decision == Decision::Promote ? 1 : 0;
    }
    EXPECT_LE(promoted, 50) << "alpha is 5 %, noise " << noise;
    EXPECT_GT(promoted, 0) << "a test that can never fire proves nothing";
  }
}

TEST(PairedTest, PromotesNothingUnderSpikesAndDriftEither) {
  // Timings are not normal: one in ten has a spike, and the machine gets warmer.
  Rng rng(19);
  PairedTest::Rules rules;
  rules.minimum_gain = 0;
  int promoted = 0;
  for (int i = 0; i < 1000; ++i) {
    PairedTest test(rules);
    double warmth = 1;
    while (test.decision() == Decision::Continue) {
      const auto sample = [&] {
        const double spike = rng.below(10) == 0 ? 0.3 * rng.uniform() : 0;
        return 1e-3 * (warmth += 1e-4) * (1 + spike + 0.005 * normal(rng));
      };
      const double first = sample();
      const double second = sample();
      const bool candidate_first = test.pairs() % 2 == 1;  // as the judge alternates
      test.add(candidate_first ? second : first, candidate_first ? first : second);
    }
    promoted += test.decision() == Decision::Promote ? 1 : 0;
  }
  EXPECT_LE(promoted, 50);
}

TEST(PairedTest, TheSimulationDoesCatchACarelessTest) {
  // Stop as soon as the mean is two standard errors above zero: what many harnesses do.
  Rng rng(7);
  int promoted = 0;
  for (int i = 0; i < 1000; ++i) {
    ConfidenceSequence sequence(0.05);
    while (sequence.count() < 100) {
      sequence.add(0.01 * (normal(rng) - normal(rng)));
      const double error = sequence.deviation() / std::sqrt(static_cast<double>(sequence.count()));
      if (sequence.count() < 5 || sequence.mean() < 2 * error) continue;
      ++promoted;
      break;
    }
  }
  EXPECT_GT(promoted, 100);
}

TEST(PairedTest, FindsTwoPercentAtOnePercentNoiseInFewerThanFortyPairs) {
  Rng rng(11);
  double pairs = 0;
  std::size_t worst = 0;
  int found = 0;
  constexpr int kRuns = 300;
  for (int i = 0; i < kRuns; ++i) {
    const Simulated result = compare(rng, 0.02, 0.01, {});
    found += result.decision == Decision::Promote ? 1 : 0;
    pairs += static_cast<double>(result.pairs);
    worst = std::max(worst, result.pairs);
  }
  EXPECT_GE(found, kRuns * 95 / 100);
  EXPECT_LT(pairs / kRuns, 15) << "on average";
  EXPECT_LT(worst, 40U) << "the slowest of all";
}

TEST(PairedTest, RejectsALossEarly) {
  Rng rng(13);
  const Simulated result = compare(rng, -0.10, 0.01, {});
  EXPECT_EQ(result.decision, Decision::Reject);
  EXPECT_LT(result.pairs, 20U);
}

TEST(PairedTest, GivesUpAtTheMaximum) {
  Rng rng(17);
  PairedTest::Rules rules;
  rules.maximum_pairs = 30;
  const Simulated result = compare(rng, 0.005, 0.05, rules);
  EXPECT_EQ(result.pairs, 30U);
  EXPECT_EQ(result.decision, Decision::Reject);
}

TEST(ConfidenceSequence, HoldsTheTruthAtAllTimesAtOnce) {
  int missed = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Rng rng(seed);
    ConfidenceSequence sequence(0.05);
    for (int i = 0; i < 200; ++i) {
      sequence.add(3 + 2 * normal(rng));
    }
    missed += sequence.interval().low > 3 || sequence.interval().high < 3 ? 1 : 0;
  }
  EXPECT_LE(missed, 25);
}

TEST(ConfidenceSequence, NeverTakesBackWhatItExcluded) {
  Rng rng(7);
  ConfidenceSequence sequence(0.05);
  Interval before = sequence.interval();
  for (int i = 0; i < 200; ++i) {
    sequence.add((i < 100 ? 0 : 1) + normal(rng) / 100);  // the mean moves away again
    const Interval now = sequence.interval();
    EXPECT_GE(now.low, before.low);
    EXPECT_LE(now.high, before.high);
    before = now;
  }
}

TEST(ConfidenceSequence, EvidenceAndIntervalAgree) {
  Rng rng(3);
  ConfidenceSequence sequence(0.05);
  for (int i = 0; i < 20; ++i) {
    sequence.add(1 + 0.1 * normal(rng));
  }
  const Interval interval = sequence.interval();
  EXPECT_GE(sequence.evidence_against(interval.low - 0.1), 20);
  EXPECT_LT(sequence.evidence_against(sequence.mean()), 1);
}

}  // namespace
}  // namespace cuco::measure
