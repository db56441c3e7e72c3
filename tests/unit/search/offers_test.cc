// SPDX-License-Identifier: Apache-2.0
// Which of a listed space is asked for next.
#include "search/offers.h"

#include <gtest/gtest.h>

#include "../../fakes/fake_evaluator.h"
#include "search/search.h"
#include "store/memory_store.h"

namespace cuco::search {
namespace {
using candidate::Rung;
using design::Directive;

/// A list of designs; the time of each is the product of what its two dimensions do.
class Lister final : public candidate::Proposer {
 public:
  Lister() {
    for (const int vector : {0, 8, 16}) {
      for (const int threads : {0, 64, 128, 256, 512, 1024}) {
        if (vector + threads == 0) continue;
        list_.push_back({.kernel = {.vector_bytes = vector, .threads = threads}});
      }
    }
  }
  [[nodiscard]] std::string name() const override { return "lister"; }
  [[nodiscard]] bool enumerates() const override { return true; }
  [[nodiscard]] std::vector<candidate::Offer> offers(const candidate::Judged&) override {
    std::vector<candidate::Offer> made;
    for (const Directive& directive : list_)
      made.push_back({.directive = directive, .kind = "kernel", .promise = 1, .code_hash = ""});
    return made;
  }
  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog&) override {
    if (!task.offer) return std::optional<candidate::ProposerAnswer>();
    places.push_back(*task.offer);
    const Directive& directive = list_[*task.offer];
    double seconds = 1e-3;
    seconds *= directive.kernel.vector_bytes == 16 ? 0.6 : 1;
    seconds *= directive.kernel.threads == 512 ? 0.7 : directive.kernel.threads == 64 ? 1.5 : 1;
    candidate::Proposal made{
        .source = program::single_file(
            "program.cu", "time " + std::to_string(seconds) + " // " + std::to_string(*task.offer)),
        .directive = directive};
    return std::optional(candidate::ProposerAnswer(std::move(made)));
  }
  std::vector<std::size_t> places;

 private:
  std::vector<Directive> list_;
};

class Listing : public testing::Test {
 protected:
  /// Whether the best design of all was found.
  bool finds_the_best(const char* policy, int candidates, std::uint64_t seed, int window = 1) {
    const ManualClock clock;
    store::MemoryStore store(clock);
    fakes::FakeEvaluator evaluator;
    auto run =
        candidate::Run::open(store, evaluator, clock, {.seed = seed, .jobs = 2, .window = window});
    EXPECT_TRUE(run);
    EXPECT_TRUE(run->add_candidate({.source = program::single_file("program.cu", "seed")}));
    EXPECT_TRUE(run->evaluate(candidate::kSeed, Rung{.fidelity = candidate::Fidelity::Standard}));
    candidate::Proposer* const proposers[] = {&lister};
    lister.places.clear();
    SearchOptions options;
    options.policy = *parse_policy(policy);
    options.budget.candidates = candidates;
    const auto result = search(*run, proposers, options);
    EXPECT_TRUE(result) << result.error().message();
    reason = result->reason;
    if (!result->winner) return false;
    const auto& kernel = run->entry(*result->winner).candidate.directive.kernel;
    return kernel.vector_bytes == 16 && kernel.threads == 512;
  }

  Lister lister;
  std::string reason;
};

TEST_F(Listing, JoinsWhatHelpedByItself) {
  // 9 of 17 designs, of which one is the best: drawing finds it about every second time.
  int searched = 0;
  int drawn = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    searched += finds_the_best("search", 10, seed) ? 1 : 0;
    drawn += finds_the_best("random", 10, seed) ? 1 : 0;
  }
  EXPECT_GE(searched, 9);
  EXPECT_LE(drawn, 8);
}

TEST_F(Listing, AsksForNothingTwiceAndForAllInTheEnd) {
  EXPECT_TRUE(finds_the_best("search", 40, 3, 4));
  EXPECT_EQ(lister.places.size(), 17U);
  EXPECT_EQ(std::set<std::size_t>(lister.places.begin(), lister.places.end()).size(), 17U);
  EXPECT_EQ(reason, "no more ideas");
}

TEST_F(Listing, StartsFarApart) {
  (void)finds_the_best("search", 5, 1, 4);
  // Nothing is known of the first four: they differ in both dimensions.
  std::set<std::size_t> rows;
  for (const std::size_t place : lister.places)
    rows.insert((place + 1) / 6);
  EXPECT_EQ(rows.size(), 3U);
}

TEST_F(Listing, GoesInItsOrderWithoutAForecast) {
  (void)finds_the_best("search,no-forecast", 6, 1);
  EXPECT_EQ(lister.places, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST_F(Listing, AsksForTheSameEachTime) {
  (void)finds_the_best("search", 12, 5, 3);
  const auto places = lister.places;
  (void)finds_the_best("search", 12, 5, 3);
  EXPECT_EQ(lister.places, places);
}

}  // namespace
}  // namespace cuco::search
