// SPDX-License-Identifier: Apache-2.0
// A run that goes on from any of its events becomes the run that it would have been.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "search/search.h"
#include "store/memory_store.h"

namespace cuco::search {
namespace {
using candidate::Fidelity;
using candidate::Number;
using candidate::Run;

/// Programs are numbers; what they do on full shapes has little to do with small ones.
class Numbers final : public candidate::Evaluator {
 public:
  [[nodiscard]] candidate::Target target() const override { return {.hardware = "none"}; }
  [[nodiscard]] candidate::Provenance provenance() const override { return {}; }
  Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate,
                                      candidate::Rung rung) override {
    ++evaluations;
    const auto& text = candidate.source.files().front().text;
    const auto number = static_cast<std::uint64_t>(std::strtoull(text.c_str(), nullptr, 10));
    if (number % 5 == 2) return candidate::Outcome(candidate::BuildFailed{"expected a ';'"});
    const bool full = rung.fidelity >= Fidelity::Scaled;
    const double seconds = 1e-3 * (0.3 + Rng(number + (full ? 1000 : 0)).uniform());
    return candidate::Outcome(
        candidate::Scored{.seconds = number == 0 ? 1e-3 : seconds, .baseline_seconds = 1e-3});
  }
  int evaluations = 0;
};

/// A program that depends on all that it is told; after so many it has no more ideas.
class Author final : public candidate::Proposer {
 public:
  Author(std::string name, int most) : name_(std::move(name)), most_(most) {}
  [[nodiscard]] std::string name() const override { return name_; }
  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog&) override {
    ++asked;
    int mine = 0;
    for (const candidate::Judged& judged : task.history)
      mine += judged.candidate.lineage.proposer == name_ ? 1 : 0;
    if (mine >= most_) return std::optional<candidate::ProposerAnswer>();
    std::uint64_t number = task.seed * 31 + static_cast<std::uint64_t>(task.parent) * 7 +
                           static_cast<std::uint64_t>(task.operation);
    for (const Number other : task.inspirations)
      number = number * 31 + static_cast<std::uint64_t>(other);
    candidate::Proposal made{
        .source = program::single_file("program.cu", fmt::format("{} {}", number, name_)),
        .directive = task.history[task.parent].candidate.directive};
    made.directive.backend = static_cast<design::Backend>(number % 4);
    made.directive.issuer.count = static_cast<int>(number % 6);
    made.lineage.parent = task.parent;
    return std::optional(candidate::ProposerAnswer(std::move(made)));
  }
  int asked = 0;

 private:
  std::string name_;
  int most_;
};

struct Made {
  std::vector<candidate::Candidate> candidates;
  std::optional<Number> winner;
  int asked = 0;
  int evaluations = 0;
};

Made go_on(store::MemoryStore& store, int budget, int planned = 0) {
  const ManualClock clock;
  Numbers evaluator;
  Author one("one", 12);
  Author other("other", 100);
  Made made;
  auto run = Run::open(store, evaluator, clock, {.seed = 3, .window = 4});
  EXPECT_TRUE(run);
  EXPECT_TRUE(run->add_candidate({.source = program::single_file("program.cu", "0")}));
  EXPECT_TRUE(run->evaluate(candidate::kSeed, {.fidelity = Fidelity::Standard}));
  candidate::Proposer* const proposers[] = {&one, &other};
  SearchOptions options;
  options.budget = {.candidates = budget, .planned = planned};
  const auto result = search(*run, proposers, options);
  EXPECT_TRUE(result) << result.error().message();
  if (result) made.winner = result->winner;
  for (const auto& entry : run->state().entries)
    made.candidates.push_back(entry.candidate);
  made.asked = one.asked + other.asked;
  made.evaluations = evaluator.evaluations;
  return made;
}

TEST(Resumed, FromAnyEventTheRunBecomesTheSame) {
  const ManualClock clock;
  store::MemoryStore whole(clock);
  const Made wanted = go_on(whole, 48);
  ASSERT_EQ(wanted.candidates.size(), 48U);
  const auto events = whole.events(0);
  ASSERT_TRUE(events);
  for (std::size_t length = 1; length < events->size(); length += 3) {
    store::MemoryStore store(clock);
    int judged = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const auto& body = (*events)[i].body;
      judged += std::holds_alternative<candidate::Evaluated>(body) ? 1 : 0;
      ASSERT_TRUE(store.append(body));
    }
    const Made made = go_on(store, 48);
    ASSERT_EQ(made.candidates, wanted.candidates) << "from event " << length;
    ASSERT_EQ(made.winner, wanted.winner) << "from event " << length;
    ASSERT_EQ(made.evaluations + judged, wanted.evaluations) << "from event " << length;
  }
}

TEST(Resumed, WithALargerBudgetItIsWhatTheLargerWouldHaveBeen) {
  const ManualClock clock;
  store::MemoryStore store(clock);
  const Made first = go_on(store, 24, 24);
  ASSERT_EQ(first.candidates.size(), 24U);
  const Made more = go_on(store, 48, 24);
  store::MemoryStore other(clock);
  const Made whole = go_on(other, 48, 24);
  ASSERT_EQ(more.candidates.size(), 48U);
  EXPECT_EQ(more.candidates, whole.candidates);
  EXPECT_EQ(more.winner, whole.winner);
}

TEST(Resumed, WhoeverGaveTheStoredAnswersIsCharged) {
  Author one("one", 1);
  Author other("other", 1);
  Roster roster({&one, &other});
  // The store says that "other" had no more ideas; today "one" would have been asked.
  roster.see({.proposer = &one, .candidate = std::nullopt, .reason = "none", .asked = "other"});
  ASSERT_EQ(roster.all().size(), 1U);
  EXPECT_EQ(roster.all().front(), &one);
  roster.see({.proposer = &one, .candidate = std::nullopt, .reason = "none", .asked = "gone"});
  EXPECT_EQ(roster.all().size(), 1U) << "a model that is not in the list any more";
}

}  // namespace
}  // namespace cuco::search
