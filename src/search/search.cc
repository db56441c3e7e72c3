// SPDX-License-Identifier: Apache-2.0
#include "search/search.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <fmt/format.h>

namespace cuco::search {
namespace {
using candidate::Fidelity;
using candidate::kSeed;
using candidate::Number;
using candidate::Run;
using candidate::Rung;

constexpr std::string_view kExplore = "explore";
constexpr int kMostFailures = 3;  ///< In a row; then a proposer is not asked any more.

/// Asks the proposers in turn until ideas or budget are spent, always to improve the incumbent;
/// while that is the seed, what the fast path has made of it.
class Explore final : public candidate::Strategy {
 public:
  Explore(Run& run,
          std::span<candidate::Proposer* const> proposers,
          const SearchOptions& options,
          Rung rung)
      : run_(run),
        proposers_(proposers.begin(), proposers.end()),
        budget_(options.budget),
        from_(options.start),
        rung_(rung),
        start_(run.clock().now()),
        incumbent_(options.incumbent),
        candidates_(run.candidates()) {}

  std::optional<candidate::Assignment> next(int unseen) override {
    if (run_.stop_requested()) return ends("interrupted");
    if (candidates_ + unseen >= budget_.candidates) return ends("candidate budget used up");
    const auto spent = std::chrono::duration<double>(run_.clock().now() - start_).count();
    if (budget_.wall_seconds && spent >= *budget_.wall_seconds) return ends("time budget used up");
    if (proposers_.empty()) {
      return ends(last_failure_.empty() ? "no more ideas"
                                        : fmt::format("no proposer left: {}", last_failure_));
    }
    turn_ %= proposers_.size();
    candidate::Assignment assignment{.proposer = proposers_[turn_++]};
    assignment.task.phase = kExplore;
    assignment.task.parent = incumbent_ == kSeed ? from_ : incumbent_;
    return assignment;
  }

  Result<void> see(const candidate::Seen& seen) override {
    if (!seen.candidate) {
      const bool out = !seen.set_aside || ++failures_[seen.proposer] >= kMostFailures;
      if (seen.set_aside) last_failure_ = seen.reason;
      if (out) drop(seen.proposer);
      return {};
    }
    failures_[seen.proposer] = 0;
    ++candidates_;
    CUCO_TRY_ASSIGN(const bool faster, run_.is_faster(*seen.candidate, incumbent_, rung_));
    if (!faster) return {};
    incumbent_ = *seen.candidate;
    return run_.set_best(incumbent_);
  }

  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::optional<candidate::Assignment> ends(std::string reason) {
    reason_ = std::move(reason);
    return std::nullopt;
  }

  void drop(candidate::Proposer* proposer) {
    const auto found = std::find(proposers_.begin(), proposers_.end(), proposer);
    if (found == proposers_.end()) return;
    // The others keep their turns.
    if (found - proposers_.begin() < static_cast<std::ptrdiff_t>(turn_)) --turn_;
    proposers_.erase(found);
  }

  Run& run_;
  std::vector<candidate::Proposer*> proposers_;
  const Budget& budget_;
  Number from_;
  Rung rung_;
  Nanoseconds start_;
  Number incumbent_;
  int candidates_;  ///< That were seen.
  std::size_t turn_ = 0;
  std::map<candidate::Proposer*, int> failures_;
  std::string last_failure_;
  std::string reason_;
};

class Race {
 public:
  Race(Run& run, const SearchOptions& options)
      : run_(run), options_(options), target_(run.evaluator().target().kind) {}

  Result<SearchResult> run(std::span<candidate::Proposer* const> proposers) {
    Explore explore(run_, proposers, options_, rung(Fidelity::Quick));
    CUCO_TRY(run_.pursue(explore, rung(Fidelity::Quick)));
    if (run_.stop_requested()) return SearchResult{std::nullopt, "interrupted"};
    // The better half goes on, at least one, at most the finalists. They need not beat the seed on
    // a small shape: what pays on full ones may cost there.
    const auto standing = finalists(ranked(Fidelity::Quick, 0));
    CUCO_TRY(run_.evaluate(standing, rung(Fidelity::Scaled)));
    CUCO_TRY_ASSIGN(const std::optional<Number> winner,
                    confirm(ranked(Fidelity::Scaled, candidate::kLeastSpeedup)));
    return SearchResult{winner, run_.stop_requested() ? "interrupted" : explore.reason()};
  }

 private:
  [[nodiscard]] Rung rung(Fidelity fidelity) const { return {target_, fidelity}; }

  /// Candidates with a time there and more than `least` of the seed's speed, the fastest first;
  /// equal ones by age, so that the order never depends on which evaluation ended first.
  [[nodiscard]] std::vector<Number> ranked(Fidelity fidelity, double least) const {
    std::vector<Number> list;
    const auto speedup = [&](Number number) { return run_.speedup(number, rung(fidelity)); };
    for (Number number = kSeed + 1; number < run_.candidates(); ++number) {
      if (speedup(number) > least) list.push_back(number);
    }
    std::stable_sort(list.begin(), list.end(),
                     [&](Number a, Number b) { return speedup(a) > speedup(b); });
    return list;
  }

  /// Of the better half, the best of every design before the second of any: what tells designs
  /// apart on full shapes, a small one does not show.
  [[nodiscard]] std::vector<Number> finalists(std::vector<Number> standing) const {
    standing.resize((standing.size() + 1) / 2);
    std::set<std::tuple<design::Backend, design::Placement, design::SyncScope>> designs;
    std::stable_partition(standing.begin(), standing.end(), [&](Number number) {
      const auto& directive = run_.entry(number).candidate.directive;
      return designs.emplace(directive.backend, directive.placement, directive.sync).second;
    });
    const auto most = static_cast<std::size_t>(std::max(options_.finalists, 1));
    standing.resize(std::min(standing.size(), most));
    return standing;
  }

  /// The first in rank that the highest fidelity accepts.
  Result<std::optional<Number>> confirm(const std::vector<Number>& finalists) {
    for (const auto number : finalists) {
      if (run_.stop_requested()) break;
      CUCO_TRY(run_.evaluate(std::span(&number, 1), rung(Fidelity::Final)));
      CUCO_TRY_ASSIGN(const bool faster, run_.is_faster(number, kSeed, rung(Fidelity::Final)));
      if (!faster) continue;
      CUCO_TRY(run_.set_best(number));
      return std::optional(number);
    }
    return std::optional<Number>();
  }

  Run& run_;
  const SearchOptions& options_;
  candidate::TargetKind target_;
};

}  // namespace

Result<SearchResult> search(Run& run,
                            std::span<candidate::Proposer* const> proposers,
                            const SearchOptions& options) {
  return Race(run, options).run(proposers);
}

}  // namespace cuco::search
