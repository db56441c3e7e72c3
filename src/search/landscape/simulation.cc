// SPDX-License-Identifier: Apache-2.0
#include "search/landscape/simulation.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>

#include "design/dimensions.h"
#include "search/search.h"
#include "search/selection/keyed_rng.h"

namespace cuco::search {
namespace {
using candidate::Operation;

constexpr double kWithin = 0.99;

/// Points of one recorded proposer that the history does not hold. One who has enumerated them is
/// asked like any other author where the policy does not enumerate.
class LandscapeProposer final : public candidate::Proposer {
 public:
  LandscapeProposer(const Landscape& landscape, std::string name, bool finite, bool enumerates)
      : landscape_(landscape), name_(std::move(name)), enumerates_(enumerates) {
    for (std::size_t i = 0; i < landscape.points().size(); ++i) {
      const Point& point = landscape.points()[i];
      if (point.proposer == name_ && point.finite == finite) mine_.push_back(i);
    }
  }

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] bool enumerates() const override { return enumerates_; }
  [[nodiscard]] std::vector<Operation> operations() const override {
    if (enumerates_) return {Operation::Rewrite};
    return Proposer::operations();
  }
  [[nodiscard]] std::vector<candidate::Offer> offers(const candidate::Judged& /*seed*/) override {
    std::vector<candidate::Offer> list;
    if (!enumerates_) return list;
    for (const std::size_t point : mine_)
      list.push_back({.directive = landscape_.points()[point].directive});
    return list;
  }

  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog&) override {
    std::vector<std::size_t> open = unseen(task.history);
    if (open.empty()) return std::optional<candidate::ProposerAnswer>();
    std::size_t chosen = open.front();
    if (task.offer) {
      chosen = mine_[*task.offer];
    } else {
      Rng rng = keyed_rng(task.seed, 0, Draw::Landscape);
      if (task.operation != Operation::Rewrite || task.plan) keep_nearest(task, &open);
      chosen = open[rng.below(open.size())];
    }
    const Point& point = landscape_.points()[chosen];
    candidate::Proposal made{
        .source = program::single_file("program.cu", Landscape::text_of(chosen)),
        .directive = point.directive};
    made.lineage.proposer = name_;
    made.lineage.parent = task.parent;
    return std::optional(candidate::ProposerAnswer(std::move(made)));
  }

 private:
  [[nodiscard]] std::vector<std::size_t> unseen(const candidate::History& history) const {
    std::set<int> known;
    for (const candidate::Judged& judged : history) {
      if (!judged.candidate.source.empty())
        known.insert(Landscape::point_of(judged.candidate.source.files().front().text));
    }
    std::vector<std::size_t> open;
    for (const std::size_t point : mine_) {
      if (!known.contains(static_cast<int>(point))) open.push_back(point);
    }
    return open;
  }

  void keep_nearest(const candidate::Task& task, std::vector<std::size_t>* open) const {
    const design::Directive& near =
        task.plan ? task.plan->directive : task.history[task.parent].candidate.directive;
    const auto away = [&](std::size_t point) {
      return design::distance(landscape_.points()[point].directive, near);
    };
    int least = away(open->front());
    for (const std::size_t point : *open)
      least = std::min(least, away(point));
    std::erase_if(*open, [&](std::size_t point) { return away(point) > least; });
  }

  const Landscape& landscape_;
  std::string name_;
  bool enumerates_;
  std::vector<std::size_t> mine_;
};

/// What was recorded. A rung that a point was not judged at says what the one below said.
class LandscapeEvaluator final : public candidate::Evaluator {
 public:
  explicit LandscapeEvaluator(const Landscape& landscape) : landscape_(landscape) {}

  [[nodiscard]] candidate::Target target() const override {
    return {.kind = landscape_.target(), .name = "recorded", .hardware = landscape_.hardware()};
  }
  [[nodiscard]] candidate::Provenance provenance() const override { return {}; }

  Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate,
                                      candidate::Rung rung) override {
    const int point = Landscape::point_of(candidate.source.files().front().text);
    const auto& outcomes = point < 0
                               ? landscape_.seed()
                               : landscape_.points()[static_cast<std::size_t>(point)].outcomes;
    auto after = outcomes.upper_bound(rung);
    return after == outcomes.begin() ? after->second : std::prev(after)->second;
  }

  /// Nothing can be timed again: recorded times decide.
  Result<candidate::Comparison> compare(const candidate::Candidate& challenger,
                                        const candidate::Candidate& incumbent,
                                        candidate::Rung rung) override {
    CUCO_TRY_ASSIGN(const auto one, evaluate(challenger, rung));
    CUCO_TRY_ASSIGN(const auto other, evaluate(incumbent, rung));
    const double before = incumbent.number == candidate::kSeed ? 1 : speedup_of(other);
    const double gain = before > 0 ? speedup_of(one) / before : 0;
    return candidate::Comparison{.faster = gain > candidate::kLeastSpeedup,
                                 .speedup = {gain, gain}};
  }

 private:
  const Landscape& landscape_;
};

int reached_at(const candidate::RunState& state, const Landscape& landscape) {
  const double wanted = kWithin * landscape.best();
  for (const candidate::Entry& entry : state.entries) {
    const int point = entry.candidate.source.empty()
                          ? -1
                          : Landscape::point_of(entry.candidate.source.files().front().text);
    if (point < 0) continue;
    const auto& outcomes = landscape.points()[static_cast<std::size_t>(point)].outcomes;
    if (speedup_of(outcomes.rbegin()->second) >= wanted) return entry.candidate.number + 1;
  }
  return 0;
}

}  // namespace

Result<Simulated> simulate(const Landscape& landscape,
                           const Policy& policy,
                           std::uint64_t seed,
                           int candidates,
                           candidate::CandidateStore& store,
                           const DesignForecast::Prior& prior) {
  LandscapeEvaluator evaluator(landscape);
  const ManualClock clock;
  CUCO_TRY_ASSIGN(auto run, candidate::Run::open(store, evaluator, clock, {.seed = seed}));
  candidate::Proposal start{.source = program::single_file("program.cu", "seed")};
  CUCO_TRY(run.add_candidate(std::move(start)));
  const candidate::Rung rung{landscape.target(), candidate::Fidelity::Standard};
  CUCO_TRY(run.evaluate(candidate::kSeed, rung));
  std::set<std::pair<std::string, bool>> names;
  std::vector<std::unique_ptr<candidate::Proposer>> owned;
  std::vector<candidate::Proposer*> proposers;
  for (const Point& point : landscape.points()) {
    if (!names.emplace(point.proposer, point.finite).second) continue;
    owned.push_back(std::make_unique<LandscapeProposer>(landscape, point.proposer, point.finite,
                                                        point.finite && policy.enumerate));
    proposers.push_back(owned.back().get());
  }
  SearchOptions options;
  options.policy = policy;
  options.budget.candidates = candidates;
  options.background.prior = prior;
  CUCO_TRY_ASSIGN(const SearchResult result, search(run, proposers, options));
  Simulated made{.candidates = run.candidates(), .to_within_1 = reached_at(run.state(), landscape)};
  if (result.winner)
    made.speedup = run.speedup(*result.winner, {landscape.target(), candidate::Fidelity::Final});
  return made;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

}  // namespace cuco::search
