// SPDX-License-Identifier: Apache-2.0
#include "search/search.h"

#include <algorithm>
#include <vector>

namespace cuco::search {
namespace {
using candidate::Fidelity;
using candidate::kSeed;
using candidate::Number;
using candidate::Run;

constexpr std::string_view kExplore = "explore";

class Race {
 public:
  Race(Run& run, std::span<candidate::Proposer* const> proposers, const SearchOptions& options)
      : run_(run),
        proposers_(proposers.begin(), proposers.end()),
        options_(options),
        start_(run.clock().now()) {}

  Result<SearchResult> run() {
    CUCO_TRY(explore());
    if (run_.stop_requested()) return SearchResult{std::nullopt, "interrupted"};
    // The better half goes on, at least one, at most the finalists.
    auto standing = ranked(Fidelity::Quick);
    const auto half = (standing.size() + 1) / 2;
    standing.resize(std::min(half, static_cast<std::size_t>(std::max(options_.finalists, 1))));
    CUCO_TRY(run_.evaluate(standing, Fidelity::Standard));
    CUCO_TRY_ASSIGN(const std::optional<Number> winner, confirm(ranked(Fidelity::Standard)));
    if (run_.stop_requested()) return SearchResult{winner, "interrupted"};
    return SearchResult{winner, reason_};
  }

 private:
  [[nodiscard]] Fidelity explore_fidelity() const {
    return options_.strategy == Strategy::Race ? Fidelity::Quick : Fidelity::Standard;
  }

  [[nodiscard]] bool budget_left() {
    if (run_.candidates() >= options_.budget.candidates) {
      reason_ = "candidate budget used up";
      return false;
    }
    const auto spent = std::chrono::duration<double>(run_.clock().now() - start_).count();
    if (options_.budget.wall_seconds && spent >= *options_.budget.wall_seconds) {
      reason_ = "time budget used up";
      return false;
    }
    return !run_.stop_requested();
  }

  /// Asks the proposers in turn, in batches, until ideas or budget are spent.
  Result<void> explore() {
    std::size_t turn = 0;
    while (!proposers_.empty() && budget_left()) {
      std::vector<Number> batch;
      while (!proposers_.empty() && budget_left() &&
             batch.size() < static_cast<std::size_t>(std::max(options_.batch, 1))) {
        turn %= proposers_.size();
        CUCO_TRY_ASSIGN(const std::optional<Number> number,
                        run_.next_candidate(*proposers_[turn], parent(), kExplore));
        if (number) {
          batch.push_back(*number);
          ++turn;
        } else {
          proposers_.erase(proposers_.begin() + static_cast<std::ptrdiff_t>(turn));
        }
      }
      CUCO_TRY(run_.evaluate(batch, explore_fidelity()));
      for (const auto number : batch)
        CUCO_TRY(consider(number));
    }
    return {};
  }

  [[nodiscard]] Number parent() const {
    return options_.strategy == Strategy::Race ? run_.state().best.value_or(kSeed) : kSeed;
  }

  /// Makes it the incumbent if it is faster, as far as is known.
  Result<void> consider(Number number) {
    const auto incumbent = run_.state().best.value_or(kSeed);
    if (run_.speedup(number) > std::max(run_.speedup(incumbent), candidate::kLeastSpeedup)) {
      return run_.set_best(number);
    }
    return {};
  }

  /// Candidates with a time at that fidelity or above that beats the seed, the fastest first; equal
  /// ones by age, so that the order never depends on which evaluation ended first.
  [[nodiscard]] std::vector<Number> ranked(Fidelity fidelity) const {
    std::vector<Number> list;
    for (const auto& entry : run_.state().entries) {
      const bool there = !entry.outcomes.empty() && entry.outcomes.rbegin()->first >= fidelity;
      const auto number = entry.candidate.number;
      if (number != kSeed && there && run_.speedup(number) > candidate::kLeastSpeedup)
        list.push_back(number);
    }
    std::stable_sort(list.begin(), list.end(),
                     [&](Number a, Number b) { return run_.speedup(a) > run_.speedup(b); });
    return list;
  }

  /// The first in rank that the highest fidelity accepts.
  Result<std::optional<Number>> confirm(const std::vector<Number>& finalists) {
    for (const auto number : finalists) {
      if (run_.stop_requested()) break;
      CUCO_TRY_ASSIGN(const candidate::Outcome outcome, run_.evaluate(number, Fidelity::Final));
      if (!std::holds_alternative<candidate::Scored>(outcome)) continue;
      if (run_.speedup(number) <= candidate::kLeastSpeedup) continue;
      CUCO_TRY(run_.set_best(number));
      return std::optional(number);
    }
    return std::optional<Number>();
  }

  Run& run_;
  std::vector<candidate::Proposer*> proposers_;
  const SearchOptions& options_;
  Nanoseconds start_;
  std::string reason_ = "no more ideas";
};

}  // namespace

Result<SearchResult> search(Run& run,
                            std::span<candidate::Proposer* const> proposers,
                            const SearchOptions& options) {
  return Race(run, proposers, options).run();
}

}  // namespace cuco::search
