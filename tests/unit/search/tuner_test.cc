// SPDX-License-Identifier: Apache-2.0
// The tuner on programs whose time is a function of their constants.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "program/knobs.h"
#include "search/search.h"
#include "search/tune/knob_tuner.h"
#include "store/memory_store.h"

namespace cuco::search {
namespace {

std::string program(int blocks, int threads, int unroll) {
  return fmt::format(
      "constexpr int kBlocks = {};\nconstexpr int kThreads = {};\nconstexpr int kUnroll = {};\n"
      "constexpr int kMaxRanks = 64;\n",
      blocks, threads, unroll);
}

/// Fastest with 64 blocks of 128 threads; unrolling does nothing, and more than 256 threads do not
/// run at all.
class Bowl final : public candidate::Evaluator {
 public:
  [[nodiscard]] candidate::Target target() const override { return {.hardware = "none"}; }
  [[nodiscard]] candidate::Provenance provenance() const override { return {}; }
  Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate,
                                      candidate::Rung) override {
    ++judged;
    double seconds = 1e-3;
    for (const auto& knob : program::find_knobs(candidate.source.files().front().text)) {
      const auto away = [&](double best) {
        return std::abs(std::log2(static_cast<double>(knob.value) / best));
      };
      if (knob.name == "kBlocks") seconds *= 1 + 0.1 * away(64);
      if (knob.name == "kThreads") seconds *= 1 + 0.05 * away(128);
      if (knob.name == "kThreads" && knob.value > 256)
        return candidate::Outcome(candidate::Crashed{"too many threads"});
    }
    return candidate::Outcome(candidate::Scored{.seconds = seconds, .baseline_seconds = kSeedTime});
  }
  int judged = 0;
  static constexpr double kSeedTime = 1e-3 * 1.2 * 1.05;  // 16 blocks of 256
};

struct Tuned {
  candidate::RunState state;
  SearchResult result;
  int judged = 0;
};

Tuned tune(int candidates, int window) {
  const ManualClock clock;
  store::MemoryStore store(clock);
  Bowl bowl;
  auto run = candidate::Run::open(store, bowl, clock, {.seed = 1, .window = window});
  EXPECT_TRUE(
      run->add_candidate({.source = program::single_file("program.cu", program(16, 256, 4))}));
  EXPECT_TRUE(run->evaluate(candidate::kSeed, {.fidelity = candidate::Fidelity::Standard}));
  KnobTuner tuner;
  candidate::Proposer* const proposers[] = {&tuner};
  SearchOptions options;
  options.budget.candidates = candidates;
  auto result = search(*run, proposers, options);
  EXPECT_TRUE(result) << result.error().message();
  return {run->state(), *result, bowl.judged};
}

TEST(KnobTuner, FindsTheBottomOfABowl) {
  const Tuned tuned = tune(40, 1);
  ASSERT_TRUE(tuned.result.winner);
  const auto& winner = tuned.state.entries[static_cast<std::size_t>(*tuned.result.winner)];
  EXPECT_EQ(winner.candidate.source.files().front().text.substr(0, 57),
            program(64, 128, 4).substr(0, 57));
  EXPECT_EQ(winner.candidate.lineage.proposer, "tuner");
  EXPECT_NE(winner.candidate.lineage.because.find(" to "), std::string::npos);
}

TEST(KnobTuner, EndsWhenNoTurnPromisesAnything) {
  const Tuned tuned = tune(400, 1);
  EXPECT_EQ(tuned.result.reason, "no more ideas");
  EXPECT_LT(tuned.state.entries.size(), 60U);
}

TEST(KnobTuner, SeldomRepeatsWhatIsOnItsWay) {
  int repeated = 0;
  const Tuned tuned = tune(24, 4);
  for (const auto& entry : tuned.state.entries) {
    if (entry.latest() != nullptr &&
        std::holds_alternative<candidate::ProposalRejected>(*entry.latest()))
      ++repeated;
  }
  EXPECT_LE(repeated, 3);
}

}  // namespace
}  // namespace cuco::search
