// SPDX-License-Identifier: Apache-2.0
// A/A: candidates that do not differ, timed with noise. Whoever is promoted was lucky.
#include <atomic>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "../../fakes/many.h"
#include "base/rng.h"
#include "measure/paired_test.h"
#include "search/search.h"
#include "store/memory_store.h"

namespace cuco::search {
namespace {
using candidate::Fidelity;
using candidate::Rung;

constexpr double kAlpha = 0.05;

/// All programs take 1 ms times e^noise; a process is slow or fast as a whole, too.
class NoisyGpu final : public candidate::Evaluator {
 public:
  explicit NoisyGpu(std::uint64_t seed, double gain) : rng_(seed), gain_(gain) {}

  [[nodiscard]] candidate::Target target() const override {
    return {.kind = candidate::TargetKind::Gpu, .name = "GPU", .hardware = "H200"};
  }
  [[nodiscard]] candidate::Provenance provenance() const override { return {}; }

  Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate, Rung) override {
    const double drift = 0.02 * normal();
    return candidate::Outcome(
        candidate::Scored{.seconds = 1e-3 / gain_of(candidate) * std::exp(drift + 0.01 * normal()),
                          .baseline_seconds = 1e-3,
                          .predicted = false});
  }

  Result<candidate::Comparison> compare(const candidate::Candidate& challenger,
                                        const candidate::Candidate& incumbent,
                                        Rung) override {
    measure::PairedTest test({.alpha = kAlpha});
    while (test.decision() == measure::Decision::Continue) {
      const double drift = 0.02 * normal();
      test.add(1e-3 / gain_of(incumbent) * std::exp(drift + 0.01 * normal()),
               1e-3 / gain_of(challenger) * std::exp(drift + 0.01 * normal()));
    }
    return candidate::Comparison{.faster = test.decision() == measure::Decision::Promote};
  }

 private:
  [[nodiscard]] double gain_of(const candidate::Candidate& candidate) const {
    return candidate.number == 7 ? gain_ : 1;
  }
  double normal() {
    const double u = 1 - rng_.uniform();
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * rng_.uniform());
  }
  Rng rng_;
  double gain_;
};

/// Writes something else each time, which makes no difference.
class Renamer final : public candidate::Proposer {
 public:
  [[nodiscard]] std::string name() const override { return "renamer"; }
  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog&) override {
    candidate::Proposal made{
        .source = program::single_file("program.cu", "int x" + std::to_string(task.seed) + ";")};
    made.directive.backend = static_cast<design::Backend>(task.seed % 3);
    made.lineage = {.proposer = name(), .parent = task.parent};
    return std::optional(candidate::ProposerAnswer(std::move(made)));
  }
};

std::optional<candidate::Number> winner(std::uint64_t seed, double gain) {
  const ManualClock clock;
  store::MemoryStore store(clock);
  NoisyGpu gpu(seed, gain);
  auto run = candidate::Run::open(store, gpu, clock, {.seed = seed});
  EXPECT_TRUE(run->add_candidate({.source = program::single_file("program.cu", "seed")}));
  EXPECT_TRUE(run->evaluate(candidate::kSeed, {candidate::TargetKind::Gpu, Fidelity::Standard}));
  Renamer renamer;
  candidate::Proposer* const proposers[] = {&renamer};
  SearchOptions options;
  options.budget.candidates = 16;
  const auto result = search(*run, proposers, options);
  EXPECT_TRUE(result) << result.error().message();
  return result->winner;
}

TEST(Noise, PromotesAtMostAlphaOfCandidatesThatDoNotDiffer) {
  const int searches = fakes::few_or_many(200, 1000);
  int promoted = 0;
  for (int seed = 1; seed <= searches; ++seed)
    promoted += winner(static_cast<std::uint64_t>(seed), 1.0) ? 1 : 0;
  RecordProperty("promoted", promoted);
  EXPECT_LE(promoted, static_cast<int>(kAlpha * searches));
}

TEST(Noise, DoesNotHideARealGain) {
  int found = 0;
  for (int seed = 1; seed <= 20; ++seed)
    found += winner(static_cast<std::uint64_t>(seed), 1.1) == 7 ? 1 : 0;
  EXPECT_GE(found, 18);
}

}  // namespace
}  // namespace cuco::search
