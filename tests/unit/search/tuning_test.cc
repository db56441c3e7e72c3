// SPDX-License-Identifier: Apache-2.0
#include "search/tune/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../fakes/fake_evaluator.h"
#include "../../fakes/scripted_proposer.h"
#include "store/memory_store.h"

namespace cuco::search {
namespace {
using candidate::Run;
using testing::ElementsAre;
using testing::HasSubstr;

/// Answers what it was told to, and remembers what it was asked.
class ScriptedAdvisor final : public candidate::Advisor {
 public:
  ScriptedAdvisor(std::string role, std::vector<std::string> answers)
      : role_(std::move(role)), answers_(std::move(answers)) {}

  [[nodiscard]] std::string name() const override { return role_; }
  Result<void> advise(const candidate::Task& task, candidate::ExchangeLog& log) override {
    parents.push_back(task.parent);
    notes.push_back(task.notes);
    if (parents.size() > answers_.size()) return Error{ErrorKind::Unavailable, "gone"};
    // The question says which one it is, as a model's prompt does.
    const auto about = role_ + std::to_string(task.as_of);
    CUCO_TRY(log.ask({.provider = "script", .role = role_, .prompt = about},
                     [&]() -> Result<candidate::Exchange> {
                       ++bought;
                       return candidate::Exchange{.answer = answers_[parents.size() - 1]};
                     }));
    return {};
  }

  std::vector<candidate::Number> parents;
  std::vector<std::vector<std::string>> notes;
  int bought = 0;

 private:
  std::string role_;
  std::vector<std::string> answers_;
};

/// "1.5,1.2": plans with these gains.
Result<std::vector<candidate::Plan>> plans_of(const std::string& answer) {
  std::vector<candidate::Plan> plans;
  for (std::size_t at = 0; at < answer.size();) {
    std::size_t used = 0;
    if (answer[at] < '0' || answer[at] > '9') return Error{ErrorKind::Protocol, "no plan"};
    plans.push_back(
        {.reason = "try " + answer, .expected_gain = std::stod(answer.substr(at), &used)});
    at += used + 1;
  }
  return plans;
}

class TuningTeam : public testing::Test {
 protected:
  TuneResult go(std::vector<std::string> programs, const TuneOptions& options = {.rounds = 2}) {
    coder = std::make_unique<fakes::ScriptedProposer>(std::move(programs));
    team.coder = coder.get();
    team.read_plans = plans_of;
    team.read_words = [](const std::string& answer) { return answer; };
    team.read_notes = [](const std::string& answer) {
      return Result<std::vector<std::string>>({answer});
    };
    team.add_shapes = [&](const std::string& answer) {
      shapes.push_back(answer);
      return Result<std::string>("also checked: " + answer);
    };
    auto run = Run::open(store, evaluator, clock, {.seed = 7});
    EXPECT_TRUE(run);
    candidate::Proposal seed{.source = program::single_file("program.cu", "seed")};
    EXPECT_TRUE(run->add_candidate(std::move(seed)));
    EXPECT_TRUE(run->evaluate(candidate::kSeed, {.fidelity = candidate::Fidelity::Standard}));
    auto result = tune(*run, team, options);
    EXPECT_TRUE(result) << result.error().message();
    state = run->state();
    return *result;
  }

  [[nodiscard]] std::vector<std::string> steps() const {
    std::vector<std::string> list;
    for (const auto& step : state.steps)
      list.push_back(step.step + ": " + step.detail);
    return list;
  }

  ManualClock clock;
  store::MemoryStore store{clock};
  fakes::FakeEvaluator evaluator;
  std::unique_ptr<fakes::ScriptedProposer> coder;
  Team team;
  candidate::RunState state;
  std::vector<std::string> shapes;
};

TEST_F(TuningTeam, OfACoderAloneGoesOnFromTheBestAndLeavesWhatIsSlower) {
  const auto result =
      go({"time 8e-4", "time 9e-4", "time 5e-4", "time 4e-4"}, {.rounds = 2, .plans = 2});
  EXPECT_EQ(result.winner, 4);
  EXPECT_THAT(coder->parents, ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(result.reason, "2 rounds");
  EXPECT_THAT(steps(), ElementsAre("tune: round 1: #1 is 1.25x as fast as #0",
                                   "tune: round 2: #4 is 2.00x as fast as #1"));
}

TEST_F(TuningTeam, DoesNotTakeAHairForAGain) {
  (void)go({"time 8e-4", "time 7.99e-4"}, {.rounds = 2, .plans = 1});
  EXPECT_THAT(steps(), testing::Contains("tune: round 2: no gain"));
}

TEST_F(TuningTeam, EndsWhenNobodyHasAnIdea) {
  const auto result = go({"time 8e-4"}, {.rounds = 9, .plans = 1});
  EXPECT_EQ(result.winner, 1);
  EXPECT_EQ(result.reason, "no more ideas");
}

TEST_F(TuningTeam, TriesPlansInOrderOfTheirGainUntilOneIsFaster) {
  ScriptedAdvisor planner("planner", {"1.1,1.5,1.2", "1.3"});
  team.planner = &planner;
  const auto result = go({"time 2e-3", "time 8e-4", "time 5e-4"});
  EXPECT_EQ(result.winner, 3);
  EXPECT_THAT(planner.parents, ElementsAre(0, 2));
  ASSERT_EQ(state.plans.size(), 4U);
  EXPECT_EQ(state.plans[0].expected_gain, 1.5);
  EXPECT_EQ(state.entries[1].candidate.lineage.plan, 0);
  EXPECT_EQ(state.entries[2].candidate.lineage.plan, 1);
  EXPECT_EQ(state.entries[3].candidate.lineage.plan, 3);
}

TEST_F(TuningTeam, RepairsTwiceWithADiagnosisTheSecondTime) {
  ScriptedAdvisor planner("planner", {"1.5"});
  ScriptedAdvisor explainer("explainer", {"a missing semicolon"});
  team.planner = &planner;
  team.explainer = &explainer;
  const auto result = go({"broken 1", "broken 2", "time 5e-4"}, {.rounds = 1});
  EXPECT_EQ(result.winner, 3);
  EXPECT_THAT(coder->parents, ElementsAre(0, 1, 2));
  EXPECT_THAT(explainer.parents, ElementsAre(2));
  EXPECT_EQ(state.entries[3].candidate.lineage.operation, "repair");
}

TEST_F(TuningTeam, GivesUpAfterTwoRepairs) {
  ScriptedAdvisor planner("planner", {"1.5"});
  team.planner = &planner;
  const auto result = go({"broken 1", "broken 2", "broken 3", "time 5e-4"}, {.rounds = 1});
  EXPECT_EQ(result.winner, std::nullopt);
  EXPECT_EQ(coder->asked, 3);
}

TEST_F(TuningTeam, PassesOnWhatEachOfThemSays) {
  ScriptedAdvisor tester("tester", {"one row"});
  ScriptedAdvisor profiler("profiler", {"loads wait", "stores wait"});
  ScriptedAdvisor planner("planner", {"1.5", "1.2"});
  ScriptedAdvisor summariser("summariser", {"vectors help", "nothing else does"});
  team.tester = &tester;
  team.profiler = &profiler;
  team.planner = &planner;
  team.summariser = &summariser;
  (void)go({"time 8e-4", "time 5e-4"});
  EXPECT_THAT(shapes, ElementsAre("one row"));
  EXPECT_THAT(planner.notes[0], ElementsAre("the profiler says: loads wait"));
  EXPECT_THAT(planner.notes[1], ElementsAre("vectors help", "the profiler says: stores wait"));
  EXPECT_EQ(state.notes.size(), 2U);
}

TEST_F(TuningTeam, GoesOnWithoutAdvisorsThatCannotBeAskedOrUnderstood) {
  ScriptedAdvisor planner("planner", {"what?"});
  ScriptedAdvisor profiler("profiler", {});
  team.planner = &planner;
  team.profiler = &profiler;
  const auto result = go({"time 8e-4", "time 5e-4"});
  EXPECT_EQ(result.winner, 2);
  EXPECT_THAT(steps(), testing::Contains("tune: planner: no plan"));
}

TEST_F(TuningTeam, BuysNothingTwiceWhenItIsResumed) {
  ScriptedAdvisor profiler("profiler", {"loads wait", "stores wait"});
  ScriptedAdvisor planner("planner", {"1.5", "1.2"});
  team.profiler = &profiler;
  team.planner = &planner;
  const auto first = go({"time 8e-4", "time 5e-4"});
  const auto events = store.events(0)->size();
  const int evaluations = evaluator.evaluations;
  const auto again = go({"time 8e-4", "time 5e-4"});
  EXPECT_EQ(again.winner, first.winner);
  EXPECT_EQ(store.events(0)->size(), events);
  EXPECT_EQ(evaluator.evaluations, evaluations);
  EXPECT_EQ(profiler.bought, 2);
  EXPECT_EQ(planner.bought, 2);
  EXPECT_EQ(coder->asked, 0);
}

}  // namespace
}  // namespace cuco::search
