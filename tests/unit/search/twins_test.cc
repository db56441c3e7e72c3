// SPDX-License-Identifier: Apache-2.0
// Programs whose texts differ and whose machine code is the same.
#include "candidate/pipeline/twins.h"

#include <gtest/gtest.h>

#include "../../fakes/fake_evaluator.h"
#include "../../fakes/scripted_proposer.h"
#include "search/search.h"
#include "store/memory_store.h"

namespace cuco::search {
namespace {
using candidate::Fidelity;
using candidate::Number;
using candidate::Run;
using candidate::Rung;
using fakes::FakeEvaluator;
using fakes::ScriptedProposer;

constexpr Rung kQuick{.fidelity = Fidelity::Quick};

class TwinsOfARun : public testing::Test {
 protected:
  /// Judges each text as one more candidate.
  candidate::RunState judge(const std::vector<std::string>& texts,
                            Rung rung = kQuick,
                            int jobs = 2) {
    auto run = Run::open(store, evaluator, clock, {.jobs = jobs, .tries = 1});
    EXPECT_TRUE(run);
    std::vector<Number> numbers;
    for (const std::string& text : texts)
      numbers.push_back(*run->add_candidate({.source = program::single_file("program.cu", text)}));
    EXPECT_TRUE(run->evaluate(numbers, rung));
    return run->state();
  }

  ManualClock clock;
  store::MemoryStore store{clock};
  FakeEvaluator evaluator;
};

TEST_F(TwinsOfARun, ShareATime) {
  const auto state = judge({"seed", "time 5e-4 device a host b", "time 9e-4 device a host b "});
  EXPECT_EQ(evaluator.evaluations, 2);
  EXPECT_EQ(state.entries[2].same_as.at(kQuick), 1);
  ASSERT_NE(state.entries[2].scored(), nullptr);
  EXPECT_EQ(state.entries[2].scored()->seconds, 5e-4) << "the first one's";
  EXPECT_TRUE(state.entries[1].same_as.empty());
}

TEST_F(TwinsOfARun, DifferIfOneHalfDoes) {
  const auto state = judge({"seed", "time 5e-4 device a host b", "time 6e-4 device a host c",
                            "time 7e-4 device d host b"});
  EXPECT_EQ(evaluator.evaluations, 4);
  EXPECT_EQ(state.entries[2].scored()->seconds, 6e-4);
  EXPECT_EQ(state.entries[3].scored()->seconds, 7e-4);
}

TEST_F(TwinsOfARun, AreFinallyJudgedEachByItself) {
  judge({"seed", "time 5e-4 device a host b", "time 5e-4 device a host b "},
        {.fidelity = Fidelity::Final});
  EXPECT_EQ(evaluator.evaluations, 3);
}

TEST_F(TwinsOfARun, DoNotShareWhatIsWrong) {
  const auto state = judge({"seed", "wrong device a host b", "time 5e-4 device a host b "});
  EXPECT_EQ(evaluator.evaluations, 3);
  EXPECT_TRUE(state.entries[2].same_as.empty());
  EXPECT_NE(state.entries[2].scored(), nullptr);
}

TEST_F(TwinsOfARun, GoOnWithoutAFirstThatCannotBeJudged) {
  const auto state = judge({"seed", "unavailable device a host b", "time 5e-4 device a host b ",
                            "time 5e-4 device a host b  "});
  EXPECT_FALSE(state.entries[1].set_aside.empty());
  EXPECT_TRUE(state.entries[2].same_as.empty());
  EXPECT_EQ(state.entries[3].same_as.at(kQuick), 2);
}

TEST_F(TwinsOfARun, AreRecognisedAfterAKill) {
  judge({"seed", "time 5e-4 device a host b"});
  const auto state = judge({"seed", "time 5e-4 device a host b", "time 9e-4 device a host b "});
  EXPECT_EQ(evaluator.evaluations, 2);
  EXPECT_EQ(state.entries[2].same_as.at(kQuick), 1);
}

TEST_F(TwinsOfARun, AreTheSameWhateverTheNumberOfJobs) {
  std::vector<std::string> texts{"seed"};
  for (int i = 1; i < 40; ++i)
    texts.push_back("time " + std::to_string(1e-3 - 1e-5 * i) + " device " +
                    std::to_string(i * 7 % 11) + " host x // " + std::to_string(i));
  evaluator.jitter = true;
  std::vector<std::map<Number, std::pair<std::map<Rung, Number>, double>>> runs;
  for (const int jobs : {1, 4, 16}) {
    store::MemoryStore other(clock);
    auto run = Run::open(other, evaluator, clock, {.seed = 7, .jobs = jobs, .window = 5});
    ASSERT_TRUE(run);
    ASSERT_TRUE(run->add_candidate({.source = program::single_file("program.cu", texts[0])}));
    ASSERT_TRUE(run->evaluate(candidate::kSeed, {.fidelity = Fidelity::Standard}));
    ScriptedProposer script({texts.begin() + 1, texts.end()});
    candidate::Proposer* const proposers[] = {&script};
    SearchOptions options;
    options.policy = *parse_policy("greedy,no-bandit,no-plans,no-repair,no-inspirations");
    options.policy.explore_share = 1;
    options.policy.stagnation = 0;
    ASSERT_TRUE(search(*run, proposers, options));
    auto& made = runs.emplace_back();
    for (const auto& entry : run->state().entries) {
      ASSERT_NE(entry.scored(), nullptr) << entry.candidate.number;
      made[entry.candidate.number] = {entry.same_as, entry.scored()->seconds};
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_EQ(runs[0], runs[2]);
  int shared = 0;
  for (const auto& [number, entry] : runs[0])
    shared += entry.first.empty() ? 0 : 1;
  EXPECT_EQ(shared, 39 - 11);
}

TEST(Twin, HasItsHotSpotsOnLinesOfItsOwn) {
  candidate::Candidate one{.source = program::single_file("program.cu", "a;\nb;\nc;\n")};
  candidate::Candidate other{.source = program::single_file("program.cu", "// new\n  b;\nd;\n")};
  const auto spot = [](int line) {
    return candidate::HotSpot{.where = {.file = "program.cu", .line = line}};
  };
  candidate::Scored scored;
  scored.shapes.push_back({.shape = "s", .hot_spots = {spot(1), spot(2), spot(3), spot(99)}});
  const auto moved = for_twin(scored, one, other);
  std::vector<int> lines;
  for (const auto& at : moved.shapes[0].hot_spots)
    lines.push_back(at.where.line);
  EXPECT_EQ(lines, (std::vector<int>{-1, 2, -1, -1}));
}

}  // namespace
}  // namespace cuco::search
