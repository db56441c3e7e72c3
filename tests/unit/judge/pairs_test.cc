// SPDX-License-Identifier: Apache-2.0
#include "judge/trial/pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../fakes/fake_bench.h"
#include "small_workload.h"

namespace cuco::judge {
namespace {

using candidate::Outcome;
using fakes::Act;
using fakes::FakeRun;
using testing::HasSubstr;

class PairsTest : public testing::Test {
 protected:
  Result<PairResult> run(fakes::Script script) {
    fakes::FakeBenches benches(std::move(script), true);
    const TrialSpec incumbent = spec("incumbent");
    const TrialSpec candidate = spec("candidate");
    PairRules rules;
    rules.test.maximum_pairs = 12;
    auto result = run_pairs(incumbent, candidate, benches, rules);
    starts_ = benches.trials;
    return result;
  }
  TrialSpec spec(const char* object) {
    return {.workload = workload_,
            .shape = workload_.shapes.front(),
            .secret = secret_,
            .candidate = object};
  }
  /// The candidate is so much faster, with a little noise.
  static fakes::Script faster_by(double factor) {
    return [factor](const FakeRun& run) {
      const double noise = 1 + 1e-3 * (run.number % 3);
      return Act{.seconds = (run.object == "candidate" ? 1e-3 / factor : 1e-3) * noise};
    };
  }

  workload::Workload workload_ = small_workload(1);
  workload::Secret secret_ = workload::Secret::from("pairs", 1);
  std::vector<std::string> starts_;
};

TEST_F(PairsTest, StopWhenDecided) {
  const auto result = run(faster_by(1.5));
  ASSERT_TRUE(result) << result.error().message();
  const auto& times = std::get<PairTimes>(*result);
  EXPECT_EQ(times.decision, measure::Decision::Promote);
  EXPECT_GT(times.speedup.low, 1.3);
  EXPECT_LT(times.starts, 12U) << "a clear gain needs few starts";
  EXPECT_EQ(times.candidate.seconds.size(), times.starts * 4) << "the first pair only warms up";
}

/// 20 us of launch hide what is a third of 3 us.
fakes::Script short_kernels(double candidate) {
  return [candidate](const FakeRun& run) {
    const double noise = 1e-8 * (run.number % 3);
    const double kernel = (run.object == "candidate" ? candidate : 3e-6) + noise;
    return Act{.seconds = 20e-6 + kernel, .in_batch = kernel};
  };
}

TEST_F(PairsTest, ShortKernelsAreTimedSeveralAtATime) {
  const auto result = run(short_kernels(2e-6));
  ASSERT_TRUE(result) << result.error().message();
  const auto& times = std::get<PairTimes>(*result);
  EXPECT_EQ(times.decision, measure::Decision::Promote);
  const auto together = seconds_of(times.candidate, true);
  ASSERT_EQ(together.size(), times.starts * 4);
  EXPECT_EQ(seconds_of(times.candidate, false).size(), together.size()) << "both figures are kept";
  for (const int count : times.candidate.iterations)
    EXPECT_LE(count, workload_.budget.sets);
  EXPECT_EQ(times.candidate.iterations, times.incumbent.iterations);
  EXPECT_GT(times.speedup.low, 1.05) << "alone it is 23 us against 22";
  EXPECT_THAT(describe({"decode", times}), HasSubstr("each of several at a time, 22.0 us alone"));
}

TEST_F(PairsTest, LongKernelsAreTimedAlone) {
  const auto result = run(faster_by(1.5));
  ASSERT_TRUE(result);
  EXPECT_TRUE(seconds_of(std::get<PairTimes>(*result).candidate, true).empty());
}

TEST_F(PairsTest, EachOfSeveralIsChecked) {
  // Runs 0 and 1 are the first pair's and the next one alone; whatever comes later is a batch, too.
  for (const int wrong : {2, 3, 4}) {
    const auto result = run([&](const FakeRun& run) {
      Act act = short_kernels(2e-6)(run);
      if (run.object == "candidate" && run.number == wrong) act.kind = Act::Kind::Wrong;
      return act;
    });
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_TRUE(std::holds_alternative<candidate::WrongResult>(std::get<Outcome>(*result)));
  }
}

TEST_F(PairsTest, NoGainIsRejected) {
  const auto result = run(faster_by(1.0));
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(std::get<PairTimes>(*result).decision, measure::Decision::Reject);
}

TEST_F(PairsTest, WhoIsStartedFirstAlternates) {
  ASSERT_TRUE(run(faster_by(1.0)));
  ASSERT_GE(starts_.size(), 4U);
  EXPECT_THAT(starts_[0], HasSubstr("incumbent"));
  EXPECT_THAT(starts_[1], HasSubstr("candidate"));
  EXPECT_THAT(starts_[2], HasSubstr("candidate"));
  EXPECT_THAT(starts_[3], HasSubstr("incumbent"));
}

TEST_F(PairsTest, ThrottledPairsAreDroppedWithTheirTwin) {
  // Where it is throttled the candidate looks ten times faster: that must not count.
  const auto result = run([](const FakeRun& run) {
    const bool throttled = run.object == "candidate" && run.number == 2;
    return Act{.seconds = throttled ? 1e-4 : 1e-3, .seen = {.throttled = throttled}};
  });
  ASSERT_TRUE(result) << result.error().message();
  const auto& times = std::get<PairTimes>(*result);
  EXPECT_EQ(times.throttled, starts_.size() / 2) << "one in each start of both";
  EXPECT_NE(times.decision, measure::Decision::Promote);
}

TEST_F(PairsTest, AGpuThatIsAlwaysThrottledDecidesNothingAndEnds) {
  const auto result = run([](const FakeRun&) { return Act{.seen = {.throttled = true}}; });
  ASSERT_TRUE(result) << result.error().message();
  const auto& times = std::get<PairTimes>(*result);
  EXPECT_EQ(times.starts, 0U);
  EXPECT_NE(times.decision, measure::Decision::Promote);
  EXPECT_EQ(starts_.size(), 2U * 36U) << "three starts of both for each that may count";
}

TEST_F(PairsTest, AWrongCandidateIsAnOutcomeAWrongIncumbentAnError) {
  const auto wrong = [](const char* object) {
    return [object](const FakeRun& run) {
      return Act{.kind =
                     run.object == object && run.number == 3 ? Act::Kind::Wrong : Act::Kind::Right};
    };
  };
  const auto candidate = run(wrong("candidate"));
  ASSERT_TRUE(candidate);
  EXPECT_TRUE(std::holds_alternative<candidate::WrongResult>(std::get<Outcome>(*candidate)));
  const auto incumbent = run(wrong("incumbent"));
  ASSERT_FALSE(incumbent);
  EXPECT_THAT(incumbent.error().message(), HasSubstr("the incumbent fails"));
}

TEST_F(PairsTest, WorkLeftRunningIsAFinding) {
  const auto result = run([](const FakeRun& run) {
    const bool candidate = run.object == "candidate";
    return Act{.seconds = candidate ? 5e-4 : 1e-3,
               .seen = {.after_seconds = candidate ? 5e-4 : 1e-4}};
  });
  ASSERT_TRUE(result) << result.error().message();
  const auto& found = std::get<candidate::Findings>(std::get<Outcome>(*result));
  EXPECT_EQ(found.findings.front().kind, "work left running");
}

}  // namespace
}  // namespace cuco::judge
