// SPDX-License-Identifier: Apache-2.0
#include "search/search.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include <gtest/gtest.h>

#include "../../fakes/fake_evaluator.h"
#include "../../fakes/scripted_proposer.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "system/os/files.h"
#include "system/os/system_clock.h"

namespace cuco::search {
namespace {
using candidate::Fidelity;
using candidate::Run;
using candidate::Rung;
using fakes::FakeEvaluator;
using fakes::ScriptedProposer;

struct Journey {
  FakeEvaluator evaluator;
  SearchResult result;
  candidate::RunState state;
};

candidate::Proposal seed() {
  candidate::Proposal proposal{.source = program::single_file("program.cu", "seed")};
  proposal.lineage.proposer = "seed";
  return proposal;
}

/// One proposer, one island, always from the fastest: what a test shows is the run, not the policy.
SearchOptions plain() {
  SearchOptions options;
  options.policy = *parse_policy("greedy,no-bandit,no-plans,no-repair,no-inspirations");
  options.policy.islands = 1;
  options.policy.explore_share = 1;
  options.policy.stagnation = 0;
  options.policy.round = 1000;
  return options;
}

SearchOptions plain_with(int finalists) {
  SearchOptions options = plain();
  options.finalists = finalists;
  return options;
}

/// The whole search with a scripted proposer; the store may hold an earlier part of the run.
Result<SearchResult> travel(candidate::CandidateStore& store,
                            FakeEvaluator& evaluator,
                            ScriptedProposer& proposer,
                            const SearchOptions& options,
                            candidate::RunState* state = nullptr,
                            const candidate::RunSettings& settings = {.seed = 7, .jobs = 2}) {
  const ManualClock clock;
  CUCO_TRY_ASSIGN(Run run, Run::open(store, evaluator, clock, settings));
  CUCO_TRY(run.add_candidate(seed()));
  CUCO_TRY(run.evaluate(candidate::kSeed, Rung{.fidelity = Fidelity::Standard}));
  candidate::Proposer* const proposers[] = {&proposer};
  auto result = search(run, proposers, options);
  if (state != nullptr) *state = run.state();
  return result;
}

class Searching : public testing::Test {
 protected:
  SearchResult go(std::vector<std::string> lines, const SearchOptions& options = plain()) {
    proposer = std::make_unique<ScriptedProposer>(std::move(lines));
    auto result = travel(store, evaluator, *proposer, options, &state);
    EXPECT_TRUE(result) << result.error().message();
    return *result;
  }

  ManualClock clock;
  store::MemoryStore store{clock};
  FakeEvaluator evaluator;
  std::unique_ptr<ScriptedProposer> proposer;
  candidate::RunState state;
};

/// Answers after a while, eight questions at once; judged for a fourth of that.
class SlowProposer final : public candidate::Proposer {
 public:
  [[nodiscard]] std::string name() const override { return "slow"; }
  [[nodiscard]] int in_flight() const override { return 8; }
  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog&) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    candidate::Proposal made{
        .source = program::single_file("program.cu", "time 9e-4 v" + std::to_string(task.seed))};
    return std::optional(candidate::ProposerAnswer(std::move(made)));
  }
};

/// Knows how long it was busy, and when first and last.
class BusyEvaluator final : public candidate::Evaluator {
 public:
  [[nodiscard]] candidate::Target target() const override { return inner_.target(); }
  [[nodiscard]] candidate::Provenance provenance() const override { return inner_.provenance(); }
  Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate,
                                      candidate::Rung rung) override {
    const auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    auto outcome = inner_.evaluate(candidate, rung);
    const auto end = std::chrono::steady_clock::now();
    if (candidate.number == 1) first = start;
    busy += end - start;
    last = end;
    return outcome;
  }
  std::chrono::steady_clock::duration busy{};
  std::chrono::steady_clock::time_point first, last;

 private:
  FakeEvaluator inner_;
};

TEST(Overlap, KeepsTheJudgeBusyWhileAModelThinks) {
  const ManualClock clock;
  store::MemoryStore store(clock);
  BusyEvaluator evaluator;
  SlowProposer proposer;
  auto run = Run::open(store, evaluator, clock, {.seed = 7, .jobs = 1, .window = 8});
  ASSERT_TRUE(run);
  ASSERT_TRUE(run->add_candidate(seed()));
  ASSERT_TRUE(run->evaluate(candidate::kSeed, Rung{.fidelity = Fidelity::Standard}));
  evaluator.busy = {};
  candidate::Proposer* const proposers[] = {&proposer};
  SearchOptions options = plain();
  options.budget.candidates = 40;
  ASSERT_TRUE(search(*run, proposers, options));
  // From the first candidate's verdict on: before it there is nothing to judge.
  const double share = std::chrono::duration<double>(evaluator.busy).count() /
                       std::chrono::duration<double>(evaluator.last - evaluator.first).count();
  EXPECT_GE(share, 0.9);
  EXPECT_EQ(run->candidates(), 40);
}

TEST_F(Searching, FindsTheFastestThatSurvivesTheFinalCheck) {
  const auto result = go({"time 8e-4", "wrong", "time 5e-4 findings at final", "time 6e-4"});
  EXPECT_EQ(result.winner, 4);
  EXPECT_EQ(state.best, 4);
  EXPECT_EQ(candidate::verdict(*state.entries[3].latest()), "findings");
}

TEST_F(Searching, SendsTheBestOfEveryDesignOnBeforeTheSecondOfAny) {
  go({"time 1e-4", "time 2e-4", "time 3e-4", "time 4e-4 GIN", "time 8e-4", "time 8e-4 b",
      "time 8e-4 c", "time 8e-4 d"},
     plain_with(2));
  const auto scaled = [&](std::size_t number) {
    return state.entries[number].outcomes.contains(Rung{.fidelity = Fidelity::Scaled});
  };
  EXPECT_TRUE(scaled(1));
  EXPECT_FALSE(scaled(2));
  EXPECT_FALSE(scaled(3));
  EXPECT_TRUE(scaled(4));
}

TEST_F(Searching, RacesFiniteSpacesBeforeAnybodyGoesOnFromThem) {
  const ManualClock still;
  auto run = Run::open(store, evaluator, still, {});
  ASSERT_TRUE(run->add_candidate(seed()));
  ASSERT_TRUE(run->evaluate(candidate::kSeed, Rung{.fidelity = Fidelity::Standard}));
  ScriptedProposer later({"time 4e-4"});
  ScriptedProposer first({"time 8e-4", "time 6e-4", "time 7e-4 GIN"});
  first.finite = true;
  candidate::Proposer* const proposers[] = {&later, &first};
  const auto result = search(*run, proposers, plain());
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->winner, 4);
  EXPECT_EQ(first.phases, std::vector<std::string>(4, "enumerate"));
  // The other one goes on from what has survived, full shapes included.
  EXPECT_EQ(later.parents.front(), 2);
  EXPECT_EQ(later.seen.front(), 4U);
  EXPECT_EQ(run->entry(4).candidate.lineage.operation, "rewrite");
}

TEST_F(Searching, LeavesHalfOfTheBudgetToThoseWhoCanGoOn) {
  const ManualClock still;
  auto run = Run::open(store, evaluator, still, {});
  ASSERT_TRUE(run->add_candidate(seed()));
  ASSERT_TRUE(run->evaluate(candidate::kSeed, Rung{.fidelity = Fidelity::Standard}));
  ScriptedProposer first({"a", "b", "c", "d", "e", "f", "g"});
  ScriptedProposer later({"h", "i", "j", "k", "l", "m", "n"});
  first.finite = true;
  candidate::Proposer* const proposers[] = {&first, &later};
  SearchOptions options = plain();
  options.budget.candidates = 9;
  ASSERT_TRUE(search(*run, proposers, options));
  EXPECT_EQ(first.asked, 4);
  EXPECT_EQ(later.asked, 4);
}

TEST_F(Searching, JudgesACrowdOnceMoreBeforeItGetsFullShapes) {
  std::vector<std::string> lines;
  for (int i = 0; i < 24; ++i)
    lines.push_back("time " + std::to_string(9e-4 - 1e-5 * i) + " // " + std::to_string(i));
  go(lines, plain_with(3));
  int standard = 0;
  int scaled = 0;
  for (const auto& entry : state.entries) {
    if (entry.candidate.number == candidate::kSeed) continue;
    standard += entry.outcomes.contains(Rung{.fidelity = Fidelity::Standard}) ? 1 : 0;
    scaled += entry.outcomes.contains(Rung{.fidelity = Fidelity::Scaled}) ? 1 : 0;
  }
  EXPECT_EQ(standard, 12);
  EXPECT_EQ(scaled, 4);  // the best of the only region, and three beside it
}

TEST_F(Searching, IsRepeatableUnlessALimitOfTimeEndedIt) {
  EXPECT_TRUE(go({"time 9e-4"}).repeatable);
  store::MemoryStore other(clock);
  ScriptedProposer script({"time 9e-4"});
  SearchOptions options = plain();
  options.budget.wall_seconds = 0;
  const auto timed = travel(other, evaluator, script, options);
  ASSERT_TRUE(timed);
  EXPECT_EQ(timed->reason, "time budget used up");
  EXPECT_FALSE(timed->repeatable);
}

TEST_F(Searching, StartsFromWhatTheFastPathMadeUntilSomethingIsFaster) {
  // Candidate 1 is slower than the seed: it is where proposals start, and never the best.
  SearchOptions options = plain();
  options.start = 1;
  const auto result = go({"time 2e-3", "time 15e-4", "time 6e-4", "time 5e-4"}, options);
  EXPECT_EQ(result.winner, 4);
  EXPECT_EQ(proposer->parents, (std::vector<candidate::Number>{1, 1, 1, 3, 4}));
}

TEST_F(Searching, CostsOneCandidateForARejectedOrRepeatedProposal) {
  const auto result = go({"reject no directive in the answer", "time 9e-4", "time 9e-4 // again"});
  EXPECT_EQ(result.winner, 2);
  ASSERT_EQ(state.entries.size(), 4U);
  EXPECT_EQ(candidate::summary(*state.entries[1].latest()),
            "no candidate: no directive in the answer");
  EXPECT_EQ(candidate::summary(*state.entries[3].latest()), "no candidate: the same code as #2");
  EXPECT_EQ(state.entries[1].exchanges.size(), 1U);
}

TEST_F(Searching, HasNoWinnerWhenNothingBeatsTheSeed) {
  EXPECT_EQ(go({"time 2e-3", "broken"}).winner, std::nullopt);
  EXPECT_EQ(state.best, std::nullopt);
}

TEST_F(Searching, StopsAtTheBudget) {
  SearchOptions options = plain();
  options.budget.candidates = 3;
  const auto result = go({"time 9e-4", "time 8e-4", "time 7e-4", "time 6e-4"}, options);
  EXPECT_EQ(state.entries.size(), 3U);
  EXPECT_EQ(result.winner, 2);
  EXPECT_EQ(result.reason, "candidate budget used up");
}

TEST_F(Searching, OffersTheIncumbentAsParent) {
  go({"time 5e-4", "time 6e-4", "time 4e-4"});
  EXPECT_EQ(proposer->parents, (std::vector<candidate::Number>{0, 1, 1, 3}));
}

TEST_F(Searching, DecidesFromWhatTheWindowShows) {
  ScriptedProposer script({"time 5e-4", "time 6e-4", "time 4e-4", "time 3e-4", "time 2e-4"});
  ASSERT_TRUE(travel(store, evaluator, script, plain(), &state, {.jobs = 3, .window = 3}));
  // Decision 1 sees the seed, 2 and 3 nothing more, 4 what 1 gave, and so on; then all.
  EXPECT_EQ(script.seen, (std::vector<std::size_t>{1, 1, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(script.parents, (std::vector<candidate::Number>{0, 0, 0, 1, 1, 3, 4, 5}));
}

TEST_F(Searching, GivesTheSameRunWhateverTheNumberOfJobs) {
  std::vector<std::string> lines;
  for (int i = 0; i < 30; ++i) {
    lines.push_back(i % 7 == 3   ? "wrong " + std::to_string(i)
                    : i % 5 == 2 ? "reject garbage"
                                 : "time " + std::to_string(9e-4 - 1e-5 * ((i * 17) % 30)) +
                                       " // " + std::to_string(i));
  }
  std::vector<std::vector<candidate::Candidate>> runs;
  std::vector<std::vector<candidate::Number>> parents;
  for (const int jobs : {1, 4, 16}) {
    store::MemoryStore other(clock);
    ScriptedProposer script(lines);
    evaluator.jitter = true;  // verdicts come in any order
    ASSERT_TRUE(travel(other, evaluator, script, plain(), &state, {.jobs = jobs, .window = 5}));
    auto& candidates = runs.emplace_back();
    for (const auto& entry : state.entries)
      candidates.push_back(entry.candidate);
    parents.push_back(script.parents);
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_EQ(runs[0], runs[2]);
  EXPECT_EQ(parents[0], parents[1]);
  EXPECT_EQ(parents[0], parents[2]);
}

TEST_F(Searching, JudgesOnlyTheBetterHalfAgain) {
  go({"time 8e-4", "time 7e-4", "time 6e-4", "time 5e-4"});
  int scaled = 0;
  for (const auto& entry : state.entries) {
    if (entry.candidate.number != 0 && entry.outcomes.contains(Rung{.fidelity = Fidelity::Scaled}))
      ++scaled;
  }
  EXPECT_EQ(scaled, 2);
}

TEST_F(Searching, SetsAsideWhatCannotBeEvaluatedAndGoesOn) {
  const auto result = go({"unavailable", "time 5e-4"});
  EXPECT_EQ(result.winner, 2);
  EXPECT_EQ(state.entries[1].latest(), nullptr);
  const auto& aside = state.entries[1].set_aside.at(Rung{});
  EXPECT_EQ(aside.reason, "nvcc is gone");
  EXPECT_EQ(aside.tries, 3);
}

TEST_F(Searching, SurvivesAnEvaluatorThatFailsEveryFifthTime) {
  evaluator.fails_every = 5;
  std::vector<std::string> lines;
  for (int i = 0; i < 20; ++i)
    lines.push_back("time " + std::to_string(9e-4 - 1e-5 * i) + " // " + std::to_string(i));
  const auto result = go(lines);
  EXPECT_EQ(result.winner, 20);
  EXPECT_GT(evaluator.failures, 3);
  for (const auto& entry : state.entries)
    EXPECT_TRUE(entry.set_aside.empty()) << entry.candidate.number;
}

TEST_F(Searching, EndsWithoutAResultWhenTheSeedCannotBeEvaluated) {
  evaluator.fails_every = 1;
  ScriptedProposer never({"time 5e-4"});
  const auto result = travel(store, evaluator, never, plain());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "the disk is full");
  EXPECT_EQ(never.asked, 0);
}

/// Fails so many times in a row before each answer.
class FlakyProposer final : public candidate::Proposer {
 public:
  explicit FlakyProposer(int failures) : failures_(failures) {}
  [[nodiscard]] std::string name() const override { return "flaky"; }
  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog& log) override {
    // The first of two calls is paid for once, however often the second fails.
    CUCO_TRY_ASSIGN(const auto plan, log.ask({.role = "plan", .prompt = std::to_string(task.turn)},
                                             [&]() -> Result<candidate::Exchange> {
                                               ++plans;
                                               return candidate::Exchange{.answer = "a plan"};
                                             }));
    if (tries_++ < failures_) return Error{ErrorKind::Unavailable, "no network"};
    tries_ = 0;
    if (task.turn >= 2) return std::optional<candidate::ProposerAnswer>();
    candidate::Proposal proposal{
        .source = program::single_file("program.cu", "time 9e-4 // " + std::to_string(task.turn))};
    return std::optional(candidate::ProposerAnswer(std::move(proposal)));
  }
  int plans = 0;

 private:
  int failures_;
  int tries_ = 0;
};

TEST_F(Searching, AsksAFailingProposerAgainWithoutPayingTwice) {
  const ManualClock still;
  auto run = Run::open(store, evaluator, still, {.tries = 3});
  ASSERT_TRUE(run->add_candidate(seed()));
  ASSERT_TRUE(run->evaluate(candidate::kSeed, Rung{.fidelity = Fidelity::Standard}));
  FlakyProposer flaky(2);
  candidate::Proposer* const proposers[] = {&flaky};
  const auto result = search(*run, proposers, plain());
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(run->state().entries.size(), 3U);
  EXPECT_EQ(flaky.plans, 3);
}

TEST_F(Searching, DropsAProposerThatCannotBeAskedTimeAfterTime) {
  const ManualClock still;
  auto run = Run::open(store, evaluator, still, {.tries = 2});
  ASSERT_TRUE(run->add_candidate(seed()));
  ASSERT_TRUE(run->evaluate(candidate::kSeed, Rung{.fidelity = Fidelity::Standard}));
  FlakyProposer dead(1'000'000);
  ScriptedProposer alive({"time 8e-4", "time 7e-4", "time 6e-4", "time 5e-4"});
  candidate::Proposer* const proposers[] = {&dead, &alive};
  const auto result = search(*run, proposers, plain());
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->winner, 4);
  EXPECT_EQ(result->reason, "no proposer left: no network");
}

TEST_F(Searching, StopsAskingWhenTheBudgetOfCallsIsSpent) {
  ScriptedProposer script({"time 8e-4", "time 7e-4", "time 6e-4"});
  const auto result =
      travel(store, evaluator, script, plain(), &state, {.exchanges = {.calls = 2}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->winner, 2);
  EXPECT_EQ(state.entries.size(), 3U);
  EXPECT_EQ(state.calls, 2);
}

TEST_F(Searching, ReservesDollarsBeforeItSpendsThem) {
  ScriptedProposer script({"time 8e-4", "time 7e-4", "time 6e-4", "time 5e-4"});
  script.dollars = 1;
  const auto result =
      travel(store, evaluator, script, plain(), &state, {.exchanges = {.dollars = 3.5}});
  ASSERT_TRUE(result);
  // The third would fit, what is reserved for it does not.
  EXPECT_EQ(state.calls, 2);
  EXPECT_DOUBLE_EQ(state.dollars, 2);
}

TEST_F(Searching, RefusesToResumeWhereVerdictsWouldMeanSomethingElse) {
  const ManualClock still;
  auto run = Run::open(store, evaluator, still, {});
  ASSERT_TRUE(run->start({.provenance = evaluator.provenance()}));
  auto again = Run::open(store, evaluator, still, {});
  EXPECT_TRUE(again->start({.provenance = evaluator.provenance()}));
  evaluator.made_with = {.workload = "other", .nvcc = "13.1"};
  const auto refused = again->start({.provenance = evaluator.provenance()});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find(
                "the workload's folder has changed, nvcc was 13.0 and is 13.1 now"),
            std::string::npos)
      << refused.error().message();
}

TEST_F(Searching, RefusesToResumeRunsOfVersionsThatDidNotSayWhatTheyWereMadeWith) {
  ASSERT_TRUE(store.append(candidate::RunStarted{.workload = "w"}));
  const ManualClock still;
  auto run = Run::open(store, evaluator, still, {});
  const auto refused = run->start({.provenance = evaluator.provenance()});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("recorded by an older cuco"), std::string::npos);
}

/// A real GPU, as far as the search can tell: times are noise, comparisons are the truth.
class NoisyEvaluator final : public candidate::Evaluator {
 public:
  [[nodiscard]] candidate::Target target() const override {
    return {.kind = candidate::TargetKind::Gpu, .name = "GPU", .hardware = "H200"};
  }
  [[nodiscard]] candidate::Provenance provenance() const override { return {}; }
  Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate,
                                      candidate::Rung rung) override {
    EXPECT_EQ(rung.target, candidate::TargetKind::Gpu);
    return candidate::Outcome(
        candidate::Scored{.seconds = candidate.number == 0 ? 1e-3 : 5e-4 / candidate.number,
                          .baseline_seconds = 1e-3,
                          .predicted = false});
  }
  Result<candidate::Comparison> compare(const candidate::Candidate& challenger,
                                        const candidate::Candidate& incumbent,
                                        candidate::Rung) override {
    asked.emplace_back(challenger.number, incumbent.number);
    return candidate::Comparison{.faster = challenger.number == 2, .speedup = {1.1, 1.2}};
  }
  std::vector<std::pair<int, int>> asked;
};

TEST_F(Searching, PromotesOnHardwareByPairedTestAlone) {
  NoisyEvaluator noisy;
  const ManualClock still;
  auto run = Run::open(store, noisy, still, {});
  ASSERT_TRUE(run->add_candidate(seed()));
  ASSERT_TRUE(
      run->evaluate(candidate::kSeed, Rung{candidate::TargetKind::Gpu, Fidelity::Standard}));
  ScriptedProposer script({"a", "b", "c"});
  candidate::Proposer* const proposers[] = {&script};
  const auto result = search(*run, proposers, plain());
  ASSERT_TRUE(result) << result.error().message();
  // By its time #3 looked best; side by side only #2 was faster.
  EXPECT_EQ(result->winner, 2);
  EXPECT_EQ(script.parents, (std::vector<candidate::Number>{0, 0, 2, 2}));
  EXPECT_FALSE(run->state().comparisons.empty());
}

/// A store that dies after some events, like a process that is killed.
class DyingStore final : public candidate::CandidateStore {
 public:
  DyingStore(candidate::CandidateStore& inner, int left) : inner_(inner), left_(left) {}
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

std::size_t without_reservations(const candidate::CandidateStore& store) {
  const auto events = store.events(0);
  return static_cast<std::size_t>(
      std::count_if(events->begin(), events->end(), [](const candidate::Event& event) {
        return !std::holds_alternative<candidate::Reserved>(event.body);
      }));
}

TEST(Resuming, EndsTheSameWhereverTheRunWasKilled) {
  const std::vector<std::string> lines = {"time 8e-4", "reject garbage", "time 5e-4", "wrong",
                                          "time 6e-4"};
  const ManualClock clock;
  store::MemoryStore whole(clock);
  FakeEvaluator counted;
  ScriptedProposer straight(lines);
  const auto expected = travel(whole, counted, straight, plain());
  ASSERT_TRUE(expected);
  const auto total = static_cast<int>(whole.events(0)->size());
  for (int killed_after = 0; killed_after < total; ++killed_after) {
    store::MemoryStore store(clock);
    FakeEvaluator evaluator;
    ScriptedProposer first(lines);
    DyingStore dying(store, killed_after);
    EXPECT_FALSE(travel(dying, evaluator, first, plain()));
    ScriptedProposer second(lines);
    const auto resumed = travel(store, evaluator, second, plain());
    ASSERT_TRUE(resumed) << killed_after << ": " << resumed.error().message();
    EXPECT_EQ(resumed->winner, expected->winner) << killed_after;
    // A question that was cut off is reserved once more; nothing else is there twice.
    EXPECT_EQ(without_reservations(store), without_reservations(whole)) << killed_after;
    // What was acknowledged is not evaluated again; at most the ones in flight are (two side by
    // side).
    EXPECT_LE(evaluator.evaluations, counted.evaluations + 2) << killed_after;
  }
}

TEST(Framework, NeedsLittleTimePerCandidate) {
  auto folder = system::TempFolder::create("cuco_framework");
  const system::SystemClock clock;
  auto store = store::SqliteStore::open(folder->path() / "e.db", store::OpenMode::ReadWrite, clock);
  ASSERT_TRUE(store);
  std::vector<std::string> lines;
  for (int i = 0; i < 300; ++i) {
    lines.push_back("time 9e-4 int x" + std::to_string(i) + ";" + std::string(10'000, '+'));
  }
  FakeEvaluator evaluator;
  ScriptedProposer proposer(lines);
  SearchOptions options = plain();
  options.budget.candidates = 301;
  const auto start = clock.now();
  const auto cpu_start = std::clock();
  ASSERT_TRUE(travel(**store, evaluator, proposer, options));
  const auto wall = std::chrono::duration<double, std::milli>(clock.now() - start) / 300;
  RecordProperty("wall_milliseconds_per_candidate", std::to_string(wall.count()));
  // Processor time: the wall also counts what else the machine is doing.
  const double cpu = 1e3 * static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC / 300;
  RecordProperty("cpu_milliseconds_per_candidate", std::to_string(cpu));
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // instrumented code is not timed
  EXPECT_LT(cpu, 10.0);
#endif
}

}  // namespace
}  // namespace cuco::search
