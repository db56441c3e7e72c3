// SPDX-License-Identifier: Apache-2.0
// The default policy with a proposer that answers by its task, as a model does.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../../fakes/fake_evaluator.h"
#include "search/search.h"
#include "store/memory_store.h"

namespace cuco::search {
namespace {
using candidate::Fidelity;
using candidate::Number;
using candidate::Operation;
using candidate::Run;
using candidate::Rung;
using fakes::FakeEvaluator;

/// Improves on the parent by 2 % (a crossover by 4 %); every fifth of its answers is wrong, and a
/// repair mends it. Backends take turns, so that there are regions.
class Improver final : public candidate::Proposer {
 public:
  [[nodiscard]] std::string name() const override { return "improver"; }

  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog&) override {
    tasks.push_back(task);
    const double parent = seconds_of(task.history[task.parent]);
    const double factor = slower > 1                               ? slower
                          : task.operation == Operation::Crossover ? 0.96
                                                                   : 0.98;
    const bool wrong = task.operation != Operation::Repair && task.seed % 5 == 3;
    candidate::Proposal made{
        .source = program::single_file(
            "program.cu", fmt::format("{} {} int x{};",
                                      wrong ? failure : fmt::format("time {:.9f}", parent * factor),
                                      candidate::name(task.operation), task.seed))};
    made.directive = task.plan ? task.plan->directive : jump(task);
    made.lineage.proposer = name();
    made.lineage.parent = task.parent;
    return std::optional(candidate::ProposerAnswer(std::move(made)));
  }

  std::vector<candidate::Task> tasks;
  std::string failure = "wrong";
  double slower = 1;  ///< Above 1: than the parent, on small shapes.

 private:
  static double seconds_of(const candidate::Judged& judged) {
    const auto* scored =
        judged.outcome ? std::get_if<candidate::Scored>(&*judged.outcome) : nullptr;
    return scored == nullptr ? 1e-3 : scored->seconds;
  }
  static design::Directive jump(const candidate::Task& task) {
    design::Directive directive = task.history[task.parent].candidate.directive;
    if (task.operation != Operation::Rewrite) return directive;
    directive.backend = static_cast<design::Backend>(task.seed % 3);
    directive.issuer.count = static_cast<int>(task.seed % 7);
    return directive;
  }
};

struct Ended {
  SearchResult result;
  candidate::RunState state;
};

Result<Ended> evolve(candidate::CandidateStore& store,
                     Improver& improver,
                     int candidates,
                     const candidate::RunSettings& settings,
                     const char* policy = "search") {
  const ManualClock clock;
  FakeEvaluator evaluator;
  evaluator.jitter = settings.jobs > 1;
  CUCO_TRY_ASSIGN(Run run, Run::open(store, evaluator, clock, settings));
  candidate::Proposal seed{.source = program::single_file("program.cu", "seed")};
  seed.lineage.proposer = "seed";
  CUCO_TRY(run.add_candidate(std::move(seed)));
  CUCO_TRY(run.evaluate(candidate::kSeed, Rung{.fidelity = Fidelity::Standard}));
  candidate::Proposer* const proposers[] = {&improver};
  SearchOptions options;
  options.budget.candidates = candidates;
  options.policy = *parse_policy(policy);
  CUCO_TRY_ASSIGN(SearchResult result, search(run, proposers, options));
  return Ended{std::move(result), run.state()};
}

class Evolving : public testing::Test {
 protected:
  ManualClock clock;
  store::MemoryStore store{clock};
  Improver improver;
};

TEST_F(Evolving, ExploresThenExploitsAndRepairsNearMisses) {
  const auto ended = evolve(store, improver, 60, {.seed = 1});
  ASSERT_TRUE(ended) << ended.error().message();
  std::map<std::string, std::set<std::string>> operations;
  for (const auto& entry : ended->state.entries) {
    const auto& lineage = entry.candidate.lineage;
    operations[lineage.phase].insert(lineage.operation);
    if (lineage.operation != "repair") continue;
    const auto& parent = ended->state.entries[static_cast<std::size_t>(*lineage.parent)];
    EXPECT_TRUE(parent.turned_down()) << "only what failed is repaired";
  }
  EXPECT_TRUE(operations["explore"].contains("rewrite"));
  EXPECT_TRUE(operations["explore"].contains("repair"));
  EXPECT_TRUE(operations["exploit"].contains("edit"));
  EXPECT_FALSE(operations["exploit"].contains("rewrite"));
  ASSERT_TRUE(ended->result.winner);
  EXPECT_EQ(ended->state.entries.size(), 60U);
}

TEST_F(Evolving, RepairsWhatDoesNotBuildBeforeAllElse) {
  improver.failure = "broken";
  const auto ended = evolve(store, improver, 60, {.seed = 1});
  ASSERT_TRUE(ended) << ended.error().message();
  const auto& entries = ended->state.entries;
  int repaired = 0;
  for (std::size_t i = 1; i + 1 < entries.size(); ++i) {
    if (entries[i].candidate.source.files().front().text.find("broken") == std::string::npos)
      continue;
    EXPECT_EQ(entries[i + 1].candidate.lineage.operation, "repair") << i;
    EXPECT_EQ(entries[i + 1].candidate.lineage.parent, static_cast<Number>(i));
    ++repaired;
  }
  EXPECT_GT(repaired, 3);
}

TEST_F(Evolving, TellsOfFullShapesBeforeTheNextQuestionWhereTriesAreFew) {
  improver.slower = 1.1;
  const auto ended = evolve(store, improver, 7, {.seed = 1});
  ASSERT_TRUE(ended) << ended.error().message();
  for (const auto& entry : ended->state.entries) {
    if (entry.candidate.number == candidate::kSeed || entry.turned_down()) continue;
    EXPECT_TRUE(entry.outcomes.contains(Rung{.fidelity = Fidelity::Scaled}))
        << entry.candidate.number;
  }
}

TEST_F(Evolving, KeepsPlansApartFromTheCodeThatFailed) {
  const auto ended = evolve(store, improver, 40, {.seed = 1});
  ASSERT_TRUE(ended);
  ASSERT_FALSE(ended->state.plans.empty());
  std::set<design::Directive> directives;
  for (std::size_t i = 0; i < ended->state.plans.size(); ++i) {
    EXPECT_EQ(ended->state.plans[i].number, static_cast<int>(i));
    EXPECT_TRUE(directives.insert(ended->state.plans[i].directive).second);
  }
  // A plan whose first implementation failed comes up again, with the finding.
  const bool again = std::ranges::any_of(improver.tasks, [](const candidate::Task& task) {
    return task.operation == Operation::Rewrite && task.plan && !task.notes.empty() &&
           task.notes.back().find("was tried before") != std::string::npos;
  });
  const bool mended = std::ranges::any_of(improver.tasks, [](const candidate::Task& task) {
    return task.operation == Operation::Repair && task.plan.has_value();
  });
  EXPECT_TRUE(again || mended);
}

TEST_F(Evolving, ShowsOthersWorkAndInstructiveFailures) {
  const auto ended = evolve(store, improver, 60, {.seed = 2});
  ASSERT_TRUE(ended);
  bool failure = false;
  bool other = false;
  for (const candidate::Task& task : improver.tasks) {
    EXPECT_LE(task.inspirations.size(), 3U);
    for (const Number number : task.inspirations) {
      EXPECT_NE(number, task.parent);
      const auto& entry = ended->state.entries[static_cast<std::size_t>(number)];
      (entry.turned_down() ? failure : other) = true;
    }
  }
  EXPECT_TRUE(failure);
  EXPECT_TRUE(other);
}

TEST_F(Evolving, ShowsTheFastestWhoeverIsImproved) {
  ASSERT_TRUE(evolve(store, improver, 30, {.seed = 2}));
  int shown = 0;
  for (const candidate::Task& task : improver.tasks) {
    const auto seconds = [&](Number number) {
      const auto* scored = std::get_if<candidate::Scored>(&*task.history[number].outcome);
      return scored == nullptr ? 1 : scored->seconds;
    };
    double fastest = 1;
    for (const candidate::Judged& judged : task.history)
      fastest = std::min(fastest, seconds(judged.candidate.number));
    if (seconds(task.parent) <= fastest) continue;
    double told = seconds(task.parent);
    for (const Number number : task.inspirations)
      told = std::min(told, seconds(number));
    EXPECT_EQ(told, fastest) << task.seed;
    ++shown;
  }
  EXPECT_GT(shown, 3);
}

TEST_F(Evolving, WritesDownWhatWasLearntForLaterTasks) {
  const auto ended = evolve(store, improver, 40, {.seed = 1});
  ASSERT_TRUE(ended);
  ASSERT_GE(ended->state.notes.size(), 3U);
  EXPECT_NE(ended->state.notes.back().front().find("reaches"), std::string::npos);
  EXPECT_FALSE(improver.tasks.back().notes.empty());
}

std::vector<candidate::Candidate> candidates_of(const candidate::RunState& state) {
  std::vector<candidate::Candidate> list;
  for (const auto& entry : state.entries)
    list.push_back(entry.candidate);
  return list;
}

TEST_F(Evolving, GivesTheSameRunForTheSameSeedWhateverTheNumberOfJobs) {
  const auto alone = evolve(store, improver, 50, {.seed = 5, .jobs = 1, .window = 4});
  ASSERT_TRUE(alone);
  for (const int jobs : {3, 8}) {
    store::MemoryStore other(clock);
    Improver again;
    const auto together = evolve(other, again, 50, {.seed = 5, .jobs = jobs, .window = 4});
    ASSERT_TRUE(together);
    EXPECT_EQ(candidates_of(together->state), candidates_of(alone->state));
    EXPECT_EQ(together->state.plans, alone->state.plans);
    EXPECT_EQ(together->state.notes, alone->state.notes);
    EXPECT_EQ(together->result.winner, alone->result.winner);
  }
  store::MemoryStore other(clock);
  Improver again;
  const auto seeded = evolve(other, again, 50, {.seed = 6, .jobs = 1, .window = 4});
  EXPECT_NE(candidates_of(seeded->state), candidates_of(alone->state));
}

/// A store that dies after some events, like a process that is killed.
class Dying final : public candidate::CandidateStore {
 public:
  Dying(candidate::CandidateStore& inner, int left) : inner_(inner), left_(left) {}
  Result<candidate::Event> append(candidate::EventBody body) override {
    if (left_-- <= 0) return Error{ErrorKind::Io, "killed"};
    return inner_.append(std::move(body));
  }
  [[nodiscard]] Result<std::vector<candidate::Event>> events(std::int64_t from) const override {
    return inner_.events(from);
  }
  [[nodiscard]] Result<candidate::RunSummary> summary() const override { return inner_.summary(); }

 private:
  candidate::CandidateStore& inner_;
  int left_;
};

TEST_F(Evolving, EndsTheSameWhereverItWasKilled) {
  const candidate::RunSettings settings{.seed = 3, .jobs = 2, .window = 3};
  const auto whole = evolve(store, improver, 30, settings);
  ASSERT_TRUE(whole);
  const auto total = static_cast<int>(store.events(0)->size());
  for (int killed_after = 0; killed_after < total; killed_after += 3) {
    store::MemoryStore part(clock);
    Dying dying(part, killed_after);
    Improver first;
    EXPECT_FALSE(evolve(dying, first, 30, settings));
    Improver second;
    const auto resumed = evolve(part, second, 30, settings);
    ASSERT_TRUE(resumed) << killed_after << ": " << resumed.error().message();
    EXPECT_EQ(candidates_of(resumed->state), candidates_of(whole->state)) << killed_after;
    EXPECT_EQ(resumed->state.plans, whole->state.plans) << killed_after;
    EXPECT_EQ(resumed->result.winner, whole->result.winner) << killed_after;
  }
}

TEST_F(Evolving, StartsEverythingFromTheSeedAsBestOfN) {
  ASSERT_TRUE(evolve(store, improver, 20, {.seed = 1}, "best-of-n"));
  for (const candidate::Task& task : improver.tasks) {
    EXPECT_EQ(task.parent, candidate::kSeed);
    EXPECT_TRUE(task.inspirations.empty());
  }
}

}  // namespace
}  // namespace cuco::search
