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
