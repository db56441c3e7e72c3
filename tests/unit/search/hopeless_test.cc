// SPDX-License-Identifier: Apache-2.0
// Designs that a forecast calls hopeless are not judged, and that is told.
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "search/search.h"
#include "store/memory_store.h"

namespace cuco::search {
namespace {
using design::Backend;

/// GIN takes ten times as long, whatever else a design does.
class SlowGin final : public candidate::Evaluator {
 public:
  [[nodiscard]] candidate::Target target() const override { return {.hardware = "none"}; }
  [[nodiscard]] candidate::Provenance provenance() const override { return {}; }
  Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate,
                                      candidate::Rung) override {
    const auto& directive = candidate.directive;
    double seconds = 1e-3 * (1 - 0.01 * directive.issuer.count);
    if (directive.backend == Backend::Gin) seconds *= 10;
    return candidate::Outcome(candidate::Scored{.seconds = seconds, .baseline_seconds = 1e-3});
  }
};

/// Another design each time, every other one with GIN.
class Writer final : public candidate::Proposer {
 public:
  [[nodiscard]] std::string name() const override { return "writer"; }
  [[nodiscard]] std::vector<candidate::Operation> operations() const override {
    return {candidate::Operation::Rewrite};
  }
  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog&) override {
    candidate::Proposal made{
        .source = program::single_file("program.cu", fmt::format("int x{};", task.seed))};
    made.directive.backend = task.seed % 2 == 0 ? Backend::Gin : Backend::Lsa;
    made.directive.issuer.count = 1 + static_cast<int>(task.seed / 2 % 40);
    made.lineage = {.proposer = name(), .parent = task.parent};
    return std::optional(candidate::ProposerAnswer(std::move(made)));
  }
};

candidate::RunState searched(const char* policy, int window) {
  const ManualClock clock;
  store::MemoryStore store(clock);
  SlowGin evaluator;
  auto run =
      candidate::Run::open(store, evaluator, clock, {.seed = 1, .jobs = 2, .window = window});
  EXPECT_TRUE(run->add_candidate({.source = program::single_file("program.cu", "seed")}));
  EXPECT_TRUE(run->evaluate(candidate::kSeed, {.fidelity = candidate::Fidelity::Standard}));
  Writer writer;
  candidate::Proposer* const proposers[] = {&writer};
  SearchOptions options;
  options.policy = *parse_policy(policy);
  options.budget.candidates = 40;
  const auto result = search(*run, proposers, options);
  EXPECT_TRUE(result) << result.error().message();
  return run->state();
}

TEST(Hopeless, IsNotJudgedAndNotCounted) {
  const auto state = searched("search", 1);
  int skipped = 0;
  int audited = 0;
  for (const auto& entry : state.entries) {
    const auto& forecast = entry.candidate.lineage.forecast;
    if (!forecast) continue;
    audited += forecast->audited ? 1 : 0;
    if (forecast->judged) continue;
    ++skipped;
    EXPECT_EQ(entry.candidate.directive.backend, Backend::Gin);
    EXPECT_LT(forecast->high, 1.01);  // 0.6 of what 40 issuers reach
    EXPECT_EQ(entry.wall_seconds, 0);
  }
  EXPECT_GT(skipped, 5);
  EXPECT_GT(audited, 0);
  // What was skipped was free: 40 others were judged.
  EXPECT_EQ(state.entries.size(), 40U + static_cast<std::size_t>(skipped));
}

TEST(Hopeless, IsJudgedWithoutForecast) {
  for (const auto& entry : searched("search,no-forecast", 1).entries)
    EXPECT_FALSE(entry.candidate.lineage.forecast);
}

TEST(Hopeless, DependsOnTheWindowAlone) {
  const auto one = searched("search", 3);
  const auto other = searched("search", 3);
  ASSERT_EQ(one.entries.size(), other.entries.size());
  for (std::size_t i = 0; i < one.entries.size(); ++i)
    EXPECT_EQ(one.entries[i].candidate, other.entries[i].candidate) << i;
}

}  // namespace
}  // namespace cuco::search
