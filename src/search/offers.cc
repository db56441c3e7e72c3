// SPDX-License-Identifier: Apache-2.0
#include "search/offers.h"

#include <algorithm>
#include <cmath>

namespace cuco::search {
namespace {

/// What a kind of program that nobody has tried may do that its design does not name.
constexpr double kNewKind = 0.15;
constexpr double kSame = 1e-9;  ///< Nearer promises are a matter of chance.

}  // namespace

Offers::Offers(const candidate::Run& run, const std::vector<candidate::Proposer*>& proposers) {
  std::set<std::string> known;
  for (candidate::Number number = candidate::kSeed; number < run.candidates(); ++number)
    known.insert(run.entry(number).candidate.code_hash);
  const candidate::Entry& seed = run.entry(candidate::kSeed);
  candidate::Judged judged{seed.candidate, std::nullopt};
  // The first verdict: later ones may come to be known at any time.
  if (!seed.outcomes.empty()) judged.outcome = seed.outcomes.begin()->second;
  for (candidate::Proposer* proposer : proposers) {
    const std::vector<candidate::Offer> offers = proposer->offers(judged);
    for (std::size_t place = 0; place < offers.size(); ++place) {
      const candidate::Offer& offer = offers[place];
      if (!offer.code_hash.empty() && !known.insert(offer.code_hash).second) continue;
      open_[proposer].push_back({place, offer});
      const auto [found, added] = promise_.emplace(offer.directive, offer.promise);
      if (!added) found->second = std::max(found->second, offer.promise);
    }
  }
}

double Offers::promise_of(const design::Directive& directive) const {
  const auto found = promise_.find(directive);
  return found == promise_.end() ? 1 : found->second;
}

std::optional<Offers::Choice> Offers::take(const candidate::Proposer* proposer, std::size_t index) {
  auto& list = open_[proposer];
  if (index >= list.size()) return std::nullopt;
  std::optional<Choice> taken = std::move(list[index]);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
  kinds_.insert(taken->offer.kind);
  return taken;
}

std::optional<Offers::Choice> Offers::first(const candidate::Proposer* proposer) {
  return take(proposer, 0);
}

std::optional<Offers::Choice> Offers::any(const candidate::Proposer* proposer, Rng random) {
  const std::size_t size = open_[proposer].size();
  return size == 0 ? std::nullopt : take(proposer, random.below(size));
}

std::optional<Offers::Choice> Offers::most_promising(const candidate::Proposer* proposer,
                                                     const DesignForecast& forecast,
                                                     double best,
                                                     Rng random) {
  const auto& list = open_[proposer];
  double most = 0;
  std::vector<std::size_t> equal;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const candidate::Offer& offer = list[i].offer;
    const double unnamed = kinds_.contains(offer.kind) ? 0 : kNewKind;
    const double promise = forecast.promise(offer.directive, best, unnamed);
    if (!equal.empty() && promise < most - kSame) continue;
    if (!equal.empty() && promise > most + kSame) equal.clear();
    if (equal.empty()) most = promise;
    equal.push_back(i);
  }
  return equal.empty() ? std::nullopt : take(proposer, equal[random.below(equal.size())]);
}

}  // namespace cuco::search
