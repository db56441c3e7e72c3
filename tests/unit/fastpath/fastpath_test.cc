// SPDX-License-Identifier: Apache-2.0
#include "fastpath/fastpath.h"

#include <gtest/gtest.h>

#include "../../fakes/fake_evaluator.h"
#include "../../fakes/scripted_proposer.h"
#include "store/memory_store.h"

namespace cuco::fastpath {
namespace {
using candidate::Run;
using fakes::ScriptedProposer;

class Walking : public testing::Test {
 protected:
  /// Both steps share one script: lines are answers in the order of asking.
  std::optional<candidate::Number> go(std::vector<std::string> lines) {
    candidate::RunSettings options;
    options.stop_requested = [this] { return stopped; };
    auto run = Run::open(store, evaluator, clock, options);
    EXPECT_TRUE(run);
    candidate::Proposal seed{.source = program::single_file("program.cu", "ncclAllGather")};
    EXPECT_TRUE(run->add_candidate(seed));
    EXPECT_TRUE(run->evaluate(candidate::kSeed, candidate::Rung{}));
    stopped = interrupted;
    ScriptedProposer script(std::move(lines));
    FastPath path;
    path.infrastructure = &script;
    path.replacement = &script;
    path.host_collectives = [](const program::Source& source) {
      std::vector<std::string> left;
      if (source.files()[0].text.find("ncclAllGather") != std::string::npos) {
        left.emplace_back("ncclAllGather");
      }
      return Result<std::vector<std::string>>(left);
    };
    auto number = walk(*run, path);
    EXPECT_TRUE(number) << number.error().message();
    steps = run->state().steps;
    parents = script.parents;
    return *number;
  }

  std::string step(std::size_t i) const {
    return steps.at(i).step + (steps[i].ok ? " ok: " : " failed: ") + steps[i].detail;
  }

  ManualClock clock;
  store::MemoryStore store{clock};
  fakes::FakeEvaluator evaluator;
  std::vector<candidate::StepDone> steps;
  std::vector<candidate::Number> parents;  ///< Of each task.
  bool interrupted = false;                ///< As soon as the seed has been judged.
  bool stopped = false;
};

TEST_F(Walking, EndsWithAProgramThatDrivesItself) {
  EXPECT_EQ(
      go({"ncclAllGather windows", "// cuco: evolve begin k\ntime 9e-4\n// cuco: evolve end\n"}),
      2);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_TRUE(step(0).starts_with("infrastructure ok"));
  EXPECT_TRUE(step(1).starts_with("replace ok"));
  EXPECT_EQ(step(2), "annotate ok: may change: k");
}

TEST_F(Walking, TriesAStepAgainAfterAFailure) {
  EXPECT_EQ(go({"broken", "windows", "wrong", "time 9e-4"}), 4);
}

TEST_F(Walking, EachStepGoesOnFromTheOneBefore) {
  EXPECT_EQ(go({"broken", "windows", "wrong", "time 9e-4"}), 4);
  EXPECT_EQ(parents, (std::vector<candidate::Number>{0, 1, 2, 3}));
  EXPECT_TRUE(step(1).starts_with("replace ok"));
}

TEST_F(Walking, RefusesAReplacementThatStillCallsTheHostCollective) {
  EXPECT_EQ(go({"windows", "ncclAllGather 1", "ncclAllGather 2", "ncclAllGather 3"}), std::nullopt);
  EXPECT_EQ(step(1), "replace failed: the host still calls ncclAllGather");
}

TEST_F(Walking, AnInterruptedStepHasNotFailed) {
  interrupted = true;
  EXPECT_EQ(go({"windows"}), std::nullopt);
  EXPECT_TRUE(steps.empty());
}

TEST_F(Walking, GivesUpWithTheVerdictOfTheLastTry) {
  EXPECT_EQ(go({"broken 1", "broken 2", "broken 3"}), std::nullopt);
  EXPECT_EQ(step(0), "infrastructure failed: does not compile: expected a ';'");
}

}  // namespace
}  // namespace cuco::fastpath
