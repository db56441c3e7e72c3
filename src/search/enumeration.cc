// SPDX-License-Identifier: Apache-2.0
#include "search/enumeration.h"

#include <algorithm>

#include "search/selection/keyed_rng.h"

namespace cuco::search {
namespace {
using candidate::Number;

constexpr std::string_view kPhase = "enumerate";
constexpr std::size_t kLeastForecast = 4;  ///< Fewer are no ground for telling what is expected.

}  // namespace

Enumeration::Enumeration(candidate::Run& run,
                         Roster& roster,
                         Spending& spending,
                         Incumbent& incumbent,
                         int most,
                         const Policy& policy,
                         DesignForecast::Prior prior)
    : run_(run),
      roster_(roster),
      spending_(spending),
      incumbent_(incumbent),
      most_(most),
      policy_(policy),
      offers_(run, roster.all()),
      prior_([this, prior = std::move(prior)](const design::Directive& directive) {
        return offers_.promise_of(directive) * (prior ? prior(directive) : 1);
      }),
      speed_(run, incumbent.rung()) {
  end_round();
}

std::optional<candidate::Assignment> Enumeration::ends(std::string reason) {
  over_ = true;
  reason_ = std::move(reason);
  return std::nullopt;
}

std::optional<candidate::Assignment> Enumeration::next(int unseen) {
  over_ = false;  // what was on its way may have given less than it could
  if (run_.stop_requested()) return ends("interrupted");
  if (auto over = spending_.over(unseen)) return ends(*std::move(over));
  if (given_ + unseen >= most_) return ends("share of the budget used up");
  if (roster_.empty()) return ends(roster_.why_empty());
  if (round_ >= policy_.round) return std::nullopt;
  candidate::Assignment assignment{.proposer = roster_.next()};
  assignment.task.phase = kPhase;
  assignment.task.parent = incumbent_.to_improve();
  auto& under_way = under_way_.emplace_back();
  ++round_;
  const auto choice = choose(assignment.proposer);
  if (!choice) return assignment;
  under_way = choice->offer.directive;
  assignment.task.offer = choice->place;
  if (policy_.forecast && designs_.known().size() >= kLeastForecast) {
    // As it was known now: what comes later must not decide.
    assignment.expect = [expected = designs_.expect(choice->offer.directive)](
                            const design::Directive&) { return std::optional(expected); };
  }
  return assignment;
}

std::optional<Offers::Choice> Enumeration::choose(const candidate::Proposer* proposer) {
  const auto decision = static_cast<std::uint64_t>(run_.next_decision());
  const Rng random = keyed_rng(run_.seed(), decision, Draw::Offer);
  if (policy_.draws) return offers_.any(proposer, random);
  if (!policy_.forecast) return offers_.first(proposer);
  return offers_.most_promising(proposer, believed(), best_, random);
}

DesignForecast Enumeration::believed() const {
  DesignForecast believed = designs_;
  for (const auto& directive : under_way_) {
    if (directive)
      believed.learn(*directive, candidate::kSeed, designs_.expect(*directive).speedup);
  }
  return believed;
}

void Enumeration::learn(Number number) {
  const candidate::Entry& entry = run_.entry(number);
  if (entry.candidate.source.empty() || entry.latest() == nullptr) return;
  const double speedup = speed_.of(number);
  designs_.learn(entry.candidate.directive, number, speedup);
  best_ = std::max(best_, speedup);
}

void Enumeration::end_round() {
  round_ = 0;
  speed_.learn();
  designs_ = DesignForecast(prior_);
  best_ = 1;
  for (Number number = candidate::kSeed; number < run_.candidates(); ++number)
    learn(number);
}

Result<void> Enumeration::see(const candidate::Seen& seen) {
  roster_.see(seen);
  under_way_.pop_front();
  if (!seen.candidate) return {};
  ++given_;
  spending_.add_candidate();
  learn(*seen.candidate);
  CUCO_TRY(incumbent_.challenge(*seen.candidate));
  return {};
}

}  // namespace cuco::search
