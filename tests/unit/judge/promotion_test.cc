// SPDX-License-Identifier: Apache-2.0
// On hardware a challenger takes the lead by pairs against the incumbent, not by its time alone.
#include <gtest/gtest.h>

#include "../../fakes/fake_bench.h"
#include "judge/judge.h"
#include "small_workload.h"

namespace cuco::judge {
namespace {

using candidate::Fidelity;
using fakes::Act;
using fakes::FakeRun;

class Promotion : public testing::Test {
 protected:
  void start(fakes::Script script, bool on_gpu = true) {
    JudgeParts parts{.workload = small_workload(1), .secret = workload::Secret::from("c", 1)};
    parts.topology = fabric::single_node(1);
    parts.gpu = *hardware::load_gpu_description(
        (system::Path(CUCO_SOURCE_DIR) / "hardware/h200.toml").string(), {});
    if (on_gpu) parts.real_gpu = RealPlace{.gpu = "NVIDIA H200", .lock = {}};
    parts.builder = std::make_unique<fakes::FakeBuilder>();
    parts.benches = std::make_unique<fakes::FakeBenches>(std::move(script), on_gpu);
    judge_ = std::make_unique<Judge>(std::move(parts));
  }
  Result<candidate::Comparison> compare(const std::string& challenger,
                                        const std::string& incumbent) {
    candidate::Candidate after;
    after.number = 2;
    after.source = program::single_file("program.cu", challenger);
    candidate::Candidate before;
    before.source = program::single_file("program.cu", incumbent);
    return judge_->compare(after, before, {judge_->target().kind, Fidelity::Standard});
  }

  std::unique_ptr<Judge> judge_;
  const std::string challenger_ = with_region("int candidate;");
};

TEST_F(Promotion, AChallengerThatIsFasterInEveryPairLeads) {
  start([](const FakeRun& run) {
    return Act{.seconds = (run.object == "candidate" ? 1e-3 : 1.2e-3) + 1e-7 * (run.number % 3)};
  });
  const auto comparison = compare(challenger_, kSmallSeed);
  ASSERT_TRUE(comparison) << comparison.error().message();
  EXPECT_TRUE(comparison->faster);
  EXPECT_GT(comparison->speedup.low, 1.1);
  EXPECT_FALSE(comparison->samples.empty());
}

TEST_F(Promotion, NoiseIsNoGain) {
  start([](const FakeRun& run) { return Act{.seconds = 1e-3 + 1e-5 * (run.number * 7 % 5)}; });
  const auto comparison = compare(challenger_, kSmallSeed);
  ASSERT_TRUE(comparison) << comparison.error().message();
  EXPECT_FALSE(comparison->faster);
}

TEST_F(Promotion, AGainOnOneShapeDoesNotPayForALossOnAnother) {
  start([](const FakeRun& run) {
    const bool is_challenger = run.object == "candidate";
    const double gain = run.shape == "timed one" ? 0.9 : 1.5;
    return Act{.seconds = 1e-3 * (is_challenger ? gain : 1) + 1e-7 * (run.number % 3)};
  });
  const auto comparison = compare(challenger_, kSmallSeed);
  ASSERT_TRUE(comparison) << comparison.error().message();
  EXPECT_FALSE(comparison->faster);
}

TEST_F(Promotion, AChallengerThatFailsThisTimeGainsNothing) {
  start([](const FakeRun& run) {
    Act act{.seconds = run.object == "candidate" ? 1e-3 : 2e-3};
    if (run.object == "candidate" && run.shape == "timed two") act.kind = Act::Kind::Wrong;
    return act;
  });
  const auto comparison = compare(challenger_, kSmallSeed);
  ASSERT_TRUE(comparison) << comparison.error().message();
  EXPECT_FALSE(comparison->faster);
}

TEST_F(Promotion, WhatNoLongerBuildsIsAFailureOfTheMachine) {
  start([](const FakeRun&) { return Act{}; });
  const auto comparison = compare(with_region("broken"), kSmallSeed);
  ASSERT_FALSE(comparison);
  EXPECT_NE(comparison.error().message().find("does not build now"), std::string::npos)
      << comparison.error().message();
}

}  // namespace
}  // namespace cuco::judge
