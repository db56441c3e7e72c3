// SPDX-License-Identifier: Apache-2.0
// The order of the judge's stages, with a compiler and benches that do not exist.
#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../fakes/fake_bench.h"
#include "judge/judge.h"
#include "small_workload.h"

namespace cuco::judge {
namespace {

using candidate::Fidelity;
using candidate::Outcome;
using fakes::Act;
using fakes::FakeRun;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kCandidate = with_region("int candidate;");

class Cascade : public testing::Test {
 protected:
  void start(fakes::Script script, bool on_gpu = false) {
    JudgeParts parts{.workload = workload_, .secret = workload::Secret::from("c", 1)};
    parts.topology = fabric::single_node(workload_.ranks);
    parts.machine.ranks = workload_.ranks;
    parts.gpu = *hardware::load_gpu_description(
        (system::Path(CUCO_SOURCE_DIR) / "hardware/h200.toml").string(), {});
    parts.scale = scale_;
    parts.small = small_;
    parts.threads = threads_;
    if (on_gpu) parts.real_gpu = RealPlace{.gpu = "NVIDIA H200", .lock = {}};
    parts.builder = std::make_unique<fakes::FakeBuilder>();
    auto benches = std::make_unique<fakes::FakeBenches>(std::move(script), on_gpu);
    benches_ = benches.get();
    parts.benches = std::move(benches);
    judge_ = std::make_unique<Judge>(std::move(parts));
  }
  Outcome judge(const std::string& program, Fidelity fidelity) {
    auto outcome = judge_->judge(program, fidelity);
    EXPECT_TRUE(outcome) << outcome.error().message();
    return *std::move(outcome);
  }
  /// Shapes of the candidate's trials, each once, in the order of the first trial of each.
  [[nodiscard]] std::vector<std::string> shapes() const {
    std::vector<std::string> shapes;
    for (const std::string& trial : benches_->trials) {
      if (!trial.starts_with("candidate ")) continue;
      const std::string shape = trial.substr(trial.find(' ') + 1);
      if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
    }
    return shapes;
  }
  static Act all_right(const FakeRun& /*run*/) { return {}; }

  workload::Workload workload_ = small_workload(1);
  double scale_ = 0;
  bool small_ = false;
  int threads_ = 1;
  fakes::FakeBenches* benches_ = nullptr;
  std::unique_ptr<Judge> judge_;
};

TEST_F(Cascade, GoesFromCheckShapesToHiddenToTimed) {
  start(all_right);
  const Outcome outcome = judge(kCandidate, Fidelity::Final);
  const auto& scored = std::get<candidate::Scored>(outcome);
  EXPECT_THAT(shapes(), ElementsAre("check one", "check two", "hidden", "timed one", "timed two"));
  EXPECT_EQ(scored.checked_shapes, 2);
  EXPECT_EQ(scored.checked_hidden_shapes, 1);
  EXPECT_EQ(scored.shapes.size(), 2U);
  EXPECT_NEAR(scored.score, 0.5, 1e-9) << "as fast as the seed";
  EXPECT_TRUE(scored.predicted);
}

TEST_F(Cascade, HiddenShapesOnlyAtFinalAndQuickTakesTheFirstOnes) {
  start(all_right);
  judge(kCandidate, Fidelity::Standard);
  EXPECT_THAT(shapes(), ElementsAre("check one", "check two", "timed one", "timed two"));
  start(all_right);
  judge(kCandidate, Fidelity::Quick);
  EXPECT_THAT(shapes(), ElementsAre("check one", "timed one"));
}

TEST_F(Cascade, ScreenBuildAndObjectScreenComeBeforeAnyTrial) {
  start(all_right);
  EXPECT_TRUE(std::holds_alternative<candidate::ScreenRejected>(
      judge("int candidate;\n", Fidelity::Final)));
  const Outcome broken = judge(with_region("candidate broken"), Fidelity::Final);
  EXPECT_EQ(std::get<candidate::BuildFailed>(broken).message, "expected a ';'");
  const Outcome slow = judge(with_region("candidate slow"), Fidelity::Final);
  EXPECT_EQ(std::get<candidate::TimedOut>(slow).stage, "build");
  const Outcome refused = judge(with_region("constructor"), Fidelity::Final);
  EXPECT_EQ(std::get<candidate::ScreenRejected>(refused).rule, "load-time code");
  EXPECT_TRUE(benches_->trials.empty());
}

TEST_F(Cascade, TheFirstStageThatFailsEndsIt) {
  const std::vector<std::string> order = {"check one", "check two", "hidden", "timed one",
                                          "timed two"};
  for (std::size_t i = 0; i < order.size(); ++i) {
    start([&](const FakeRun& run) {
      const bool fails = run.object == "candidate" && run.shape == order[i];
      return Act{.kind = fails ? Act::Kind::Crash : Act::Kind::Right};
    });
    const Outcome outcome = judge(kCandidate, Fidelity::Final);
    ASSERT_TRUE(std::holds_alternative<candidate::Crashed>(outcome)) << order[i];
    EXPECT_EQ(std::get<candidate::Crashed>(outcome).shape, order[i]);
    EXPECT_EQ(shapes().back(), order[i]);
    EXPECT_EQ(shapes().size(), i + 1);
  }
}

TEST_F(Cascade, TheVerdictIsTheSameWithSeveralTrialsAtATime) {
  // Wrong on two shapes: the first in the order of the cascade is named.
  const auto wrong_late = [](const FakeRun& run) {
    const bool wrong = run.object == "candidate" && run.shape != "check one";
    return Act{.kind = wrong ? Act::Kind::Wrong : Act::Kind::Right};
  };
  for (const int threads : {1, 2, 8}) {
    threads_ = threads;
    start(wrong_late);
    const Outcome wrong = judge(kCandidate, Fidelity::Final);
    EXPECT_EQ(std::get<candidate::WrongResult>(wrong).shape, "check two") << threads;
    start(all_right);
    const Outcome right = judge(kCandidate, Fidelity::Final);
    const auto& scored = std::get<candidate::Scored>(right);
    ASSERT_EQ(scored.shapes.size(), 2U);
    EXPECT_EQ(scored.shapes[0].shape, "timed one");
    EXPECT_EQ(scored.shapes[1].shape, "timed two");
  }
}

TEST_F(Cascade, AdversarialSchedulesByFidelity) {
  const auto count = [&](Fidelity fidelity) {
    std::set<std::uint64_t> seeds;
    start([&](const FakeRun& run) {
      if (run.shape == "check one") seeds.insert(run.machine.schedule_seed);
      return Act{};
    });
    judge(kCandidate, fidelity);
    return seeds.size() - 1;  // without the plain one
  };
  EXPECT_EQ(count(Fidelity::Quick), 0U);
  EXPECT_EQ(count(Fidelity::Standard), 1U);
  EXPECT_EQ(count(Fidelity::Final), 4U);
}

TEST_F(Cascade, FinalWatchesEveryShapeAndDisturbsTheTimedOnes) {
  std::set<std::string> watched;
  std::set<std::string> scheduled;
  const auto see = [&](const FakeRun& run) {
    if (run.object != "candidate") return Act{};
    if (run.machine.check) watched.insert(run.shape);
    if (run.machine.schedule_seed != 0) scheduled.insert(run.shape);
    return Act{};
  };
  start(see);
  const auto all = ElementsAre("check one", "check two", "hidden", "timed one", "timed two");
  const auto final = std::get<candidate::Scored>(judge(kCandidate, Fidelity::Final));
  EXPECT_THAT(watched, all);
  EXPECT_THAT(scheduled, all);
  EXPECT_THAT(final.left_out, testing::Contains(HasSubstr("3 of 4 adversarial schedules")));
  EXPECT_THAT(final.left_out, testing::Contains(HasSubstr("no [range]")));
  watched.clear();
  start(see);
  const auto quick = std::get<candidate::Scored>(judge(kCandidate, Fidelity::Quick));
  EXPECT_TRUE(watched.empty());
  EXPECT_THAT(quick.left_out, testing::Contains("the checker"));
}

TEST_F(Cascade, FullShapesAreTimedByTwoScaleModels) {
  workload_.scale = {64};
  workload_.shapes.push_back({"full", {workload::Use::Full}, {1024 * 1024}});
  scale_ = 16;
  std::map<std::string, double> divisors;
  const auto see = [&](const FakeRun& run) {
    divisors[run.shape] = run.machine.divisor.math;
    // Work and machine shrink together: the models' times are nearly the full shape's.
    const bool small = run.shape == "full / 32";
    return Act{.seconds = small ? 1.3e-3 : 1e-3, .blocks_per_sm = small ? 11.6 : 9.7};
  };
  start(see);
  const auto scored = std::get<candidate::Scored>(judge(kCandidate, Fidelity::Scaled));
  EXPECT_EQ(divisors["full / 16"], 16);
  EXPECT_EQ(divisors["full / 32"], 32);
  EXPECT_EQ(divisors["timed one"], 1);
  ASSERT_EQ(scored.shapes.size(), 3U);
  const candidate::ShapeTime& full = scored.shapes.back();
  EXPECT_EQ(full.shape, "full");
  EXPECT_EQ(full.scale_model.factor, 16);
  EXPECT_EQ(full.scale_model.smaller_factor, 32);
  EXPECT_NEAR(full.scale_model.difference(full.seconds), 0.3, 1e-9);
  EXPECT_THAT(scored.warnings, ElementsAre(HasSubstr("scale models disagree by +30 %")));
  EXPECT_EQ(full.scale_model.filling, (candidate::Filling{9.7, 4.85}));
  EXPECT_EQ(full.scale_model.smaller_filling, (candidate::Filling{11.6, 5.8}));
  EXPECT_THAT(scored.warnings, ElementsAre(HasSubstr("by 16 (9.7 blocks per SM)")));
  EXPECT_NEAR(scored.seconds, full.seconds, 1e-12) << "full shapes are the score";
  start(see);
  EXPECT_EQ(std::get<candidate::Scored>(judge(kCandidate, Fidelity::Standard)).shapes.size(), 2U);
  small_ = true;
  start(see);
  const auto small = std::get<candidate::Scored>(judge(kCandidate, Fidelity::Scaled));
  EXPECT_EQ(small.shapes.size(), 2U);
  EXPECT_THAT(small.left_out, testing::Contains("times of full shapes"));
}

TEST_F(Cascade, WhereNothingIsSmallerTheLargerModelIsLarger) {
  workload_.flops = "1000000 * n";  // an eighth of it would be cheap enough
  workload_.scale = {1024};         // and a quarter is the least
  workload_.shapes.push_back({"full", {workload::Use::Full}, {4096}});
  start(all_right);
  const auto two = std::get<candidate::Scored>(judge(kCandidate, Fidelity::Scaled));
  EXPECT_EQ(two.shapes.back().scale_model.factor, 2);
  EXPECT_EQ(two.shapes.back().scale_model.smaller_factor, 4);
  EXPECT_TRUE(two.warnings.empty());
  scale_ = 4;  // as the user wishes
  start(all_right);
  const auto one = std::get<candidate::Scored>(judge(kCandidate, Fidelity::Scaled));
  EXPECT_EQ(one.shapes.back().scale_model.factor, 4);
  EXPECT_THAT(one.warnings, ElementsAre(HasSubstr("cannot be divided by 8: [scale] allows 4")));
}

TEST_F(Cascade, BothScaleModelsAreDisturbedAndWatchedAndTheSmallerOneIsProfiled) {
  workload_ = small_workload(2);
  workload_.scale = {64};
  workload_.shapes.push_back({"full", {workload::Use::Full}, {1024 * 1024}});
  scale_ = 16;
  std::set<std::string> watched;
  std::set<std::string> profiled;
  std::set<std::string> disturbed;
  std::set<std::string> late;
  std::vector<std::string> scheduled;
  start([&](const FakeRun& run) {
    if (run.object != "candidate" || !run.shape.starts_with("full")) return Act{};
    if (run.handicap.delivery_delay_ps > 0) late.insert(run.shape);
    if (run.machine.schedule_seed != 0) scheduled.push_back(run.shape);
    if (run.machine.check) watched.insert(run.shape);
    if (run.machine.profile) profiled.insert(run.shape);
    if (run.handicap.rank >= 0) disturbed.insert(run.shape);
    return Act{};
  });
  judge(kCandidate, Fidelity::Scaled);
  EXPECT_TRUE(disturbed.empty()) << "a search has no time for it";
  judge(kCandidate, Fidelity::Final);
  EXPECT_THAT(watched, ElementsAre("full / 16", "full / 32"));
  EXPECT_THAT(profiled, ElementsAre("full / 32"));
  EXPECT_THAT(disturbed, ElementsAre("full / 16", "full / 32")) << "who skips a wait is timed";
  EXPECT_THAT(late, ElementsAre("full / 16", "full / 32"));
  EXPECT_THAT(scheduled, ElementsAre("full / 16", "full / 32")) << "one iteration of one schedule";
}

TEST_F(Cascade, ARaceOnTheLargerScaleModelAloneIsFoundAndOneTooSlowToWatchIsSaid) {
  workload_.scale = {64};
  workload_.shapes.push_back({"full", {workload::Use::Full}, {1024 * 1024}});
  scale_ = 16;
  check::Finding race;
  race.kind = check::Kind::GlobalRace;
  race.message = "two writes";
  const auto watched_there = [](const FakeRun& run) {
    return run.object == "candidate" && run.shape == "full / 16" && run.machine.check;
  };
  start([&](const FakeRun& run) { return watched_there(run) ? Act{.findings = {race}} : Act{}; });
  EXPECT_TRUE(std::holds_alternative<candidate::Findings>(judge(kCandidate, Fidelity::Final)));
  start([&](const FakeRun& run) {
    return Act{.kind = watched_there(run) ? Act::Kind::OutOfTime : Act::Kind::Right};
  });
  const auto scored = std::get<candidate::Scored>(judge(kCandidate, Fidelity::Final));
  EXPECT_THAT(scored.left_out,
              testing::Contains("the checker on full / 16, which did not end in time"));
}

TEST_F(Cascade, OneRunIsLongEnoughForAnEpochOfAByteUnlessThatIsDear) {
  for (const auto& [flops, least, most] :
       {std::tuple("n", 256, 513), std::tuple("1e12 * n", 15, 31)}) {
    workload_.flops = flops;
    int longest = 0;
    start([&](const FakeRun& run) {
      if (run.object == "candidate" && run.shape == "check one")
        longest = std::max(longest, run.number);
      return Act{};
    });
    judge(kCandidate, Fidelity::Final);
    EXPECT_GE(longest, least) << flops;
    EXPECT_LE(longest, most) << flops;
  }
}

TEST_F(Cascade, AWrongScaleModelIsTheVerdict) {
  workload_.scale = {64};
  workload_.shapes.push_back({"full", {workload::Use::Full}, {1024 * 1024}});
  scale_ = 16;
  for (const char* where : {"full / 16", "full / 32"}) {
    start([&](const FakeRun& run) {
      const bool fails = run.object == "candidate" && run.shape == where;
      return Act{.kind = fails ? Act::Kind::Crash : Act::Kind::Right};
    });
    EXPECT_TRUE(std::holds_alternative<candidate::Crashed>(judge(kCandidate, Fidelity::Scaled)));
  }
}

TEST_F(Cascade, AFindingOnATimedShapeIsTheVerdict) {
  check::Finding race;
  race.kind = check::Kind::GlobalRace;
  race.message = "two writes";
  start([&](const FakeRun& run) {
    const bool here = run.object == "candidate" && run.shape == "timed two";
    return here ? Act{.findings = {race}} : Act{};
  });
  EXPECT_TRUE(std::holds_alternative<candidate::Findings>(judge(kCandidate, Fidelity::Final)));
}

TEST_F(Cascade, AWrongResultIsExplainedByTheChecker) {
  check::Finding race;
  race.kind = check::Kind::GlobalRace;
  race.message = "two writes";
  start([&](const FakeRun& run) {
    const bool wrong = run.object == "candidate";
    return Act{.kind = wrong ? Act::Kind::Wrong : Act::Kind::Right, .findings = {race}};
  });
  const Outcome outcome = judge(kCandidate, Fidelity::Quick);
  const auto& wrong = std::get<candidate::WrongResult>(outcome);
  ASSERT_EQ(wrong.findings.size(), 1U);
  EXPECT_EQ(wrong.findings.front().message, "two writes");
}

TEST_F(Cascade, FasterThanLightIsQuarantined) {
  start([](const FakeRun& run) { return Act{.seconds = run.object == "candidate" ? 1e-9 : 1e-3}; });
  EXPECT_TRUE(
      std::holds_alternative<candidate::Quarantined>(judge(kCandidate, Fidelity::Standard)));
}

TEST_F(Cascade, ASeedThatFailsIsAnErrorNotAVerdict) {
  start([](const FakeRun& run) {
    return Act{.kind = run.object == "seed" ? Act::Kind::Deadlock : Act::Kind::Right};
  });
  const auto outcome = judge_->judge(kCandidate, Fidelity::Quick);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr("the seed of small does not pass"));
}

TEST_F(Cascade, TheSeedIsTimedOnce) {
  start(all_right);
  judge(kCandidate, Fidelity::Quick);
  judge(with_region("int candidate, two;"), Fidelity::Quick);
  EXPECT_EQ(std::ranges::count(benches_->trials, "seed timed one"), 1);
}

TEST_F(Cascade, CheckLooksAtCheckShapesAlone) {
  start(all_right);
  const auto outcome = judge_->check(kCandidate);
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->has_value());
  EXPECT_THAT(shapes(), ElementsAre("check one", "check two"));
}

TEST_F(Cascade, OnARealGpuPairsDecide) {
  start(
      [](const FakeRun& run) {
        return Act{.seconds = (run.object == "candidate" ? 1e-3 : 2e-3) + 1e-6 * (run.number % 3)};
      },
      true);
  const Outcome outcome = judge(kCandidate, Fidelity::Final);
  const auto& scored = std::get<candidate::Scored>(outcome);
  EXPECT_FALSE(scored.predicted);
  EXPECT_EQ(scored.hardware, "NVIDIA H200");
  EXPECT_NEAR(scored.baseline_seconds / scored.seconds, 2, 0.01);
  ASSERT_EQ(judge_->measured().size(), 2U);
  EXPECT_EQ(judge_->measured().front().times.decision, measure::Decision::Promote);
}

TEST_F(Cascade, EvaluatesFromSeveralThreads) {
  start([](const FakeRun&) { return Act{.seconds = 1e-3}; }, true);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      EXPECT_TRUE(judge_->judge(kCandidate, Fidelity::Quick));
      EXPECT_LE(judge_->measured().size(), 8U);
    });
  }
  threads.clear();
  EXPECT_EQ(judge_->measured().size(), 8U);
}

}  // namespace
}  // namespace cuco::judge
