// SPDX-License-Identifier: Apache-2.0
#include "search/plans/plan_book.h"

#include <cmath>

#include "base/assert.h"

namespace cuco::search {
namespace {
using candidate::PlanNumber;

constexpr double kExploration = 1.0;

/// In [0, 1): 0 for what is not faster than the seed, 0.5 for twice its speed.
double value_of(double speedup) {
  return speedup > 1 ? 1 - 1 / speedup : 0;
}

double puct(double value, double visits, double share, double above) {
  const double mean = visits > 0 ? value / visits : 0;
  return mean + kExploration * share * std::sqrt(above) / (1 + visits);
}

}  // namespace

void PlanBook::add(candidate::Plan plan) {
  CUCO_ASSERT(plan.number == static_cast<PlanNumber>(nodes_.size()));
  CUCO_ASSERT(!plan.parent || *plan.parent < plan.number);
  (plan.parent ? node(*plan.parent).children : roots_).push_back(plan.number);
  by_directive_.emplace(plan.directive, plan.number);
  nodes_.push_back({.plan = std::move(plan)});
}

const PlanBook::Node* PlanBook::find(const design::Directive& directive) const {
  const auto found = by_directive_.find(directive);
  return found == by_directive_.end() ? nullptr : &(*this)[found->second];
}

std::optional<PlanBook::Choice> PlanBook::choose() const {
  return descend(std::nullopt);
}

std::optional<PlanBook::Choice> PlanBook::descend(std::optional<PlanNumber> from) const {
  double above = 1;
  double gains = 1e-9;
  for (const PlanNumber child : children(from)) {
    above += (*this)[child].visits + (*this)[child].in_flight;
    gains += (*this)[child].plan.expected_gain;
  }
  std::optional<Choice> best;
  double best_score = 0;
  if (from) {
    const Node& here = (*this)[*from];
    // A plan without an implementation has nothing below it; one that was given up ends the walk.
    if (!here.best && !here.is_open()) return std::nullopt;
    // The more goes on from here already, the less another one is worth.
    const double share_here = 1 / (1 + static_cast<double>(here.children.size()));
    best = Choice{*from, !here.best};
    best_score = puct(value_of(here.speedup), 1 + here.own, share_here, above);
  }
  for (const PlanNumber child : children(from)) {
    const Node& known = (*this)[child];
    const double share = known.plan.expected_gain / gains;
    const double score = puct(known.value, known.visits + known.in_flight, share, above);
    if (best && score <= best_score) continue;
    const auto below = descend(child);
    if (!below) continue;
    best = below;
    best_score = score;
  }
  return best;
}

void PlanBook::begin(PlanNumber plan) {
  ++node(plan).own;
  for (std::optional<PlanNumber> at = plan; at; at = node(*at).plan.parent)
    ++node(*at).in_flight;
}

void PlanBook::abandon(PlanNumber plan) {
  --node(plan).own;
  for (std::optional<PlanNumber> at = plan; at; at = node(*at).plan.parent)
    --node(*at).in_flight;
}

void PlanBook::end(PlanNumber plan, double speedup) {
  for (std::optional<PlanNumber> at = plan; at; at = node(*at).plan.parent) {
    Node& known = node(*at);
    --known.in_flight;
    known.visits += 1;
    known.value += value_of(speedup);
  }
}

void PlanBook::implemented(PlanNumber plan, candidate::Number number, double speedup) {
  Node& known = node(plan);
  if (speedup <= 0) {
    known.failed = number;
    ++known.failed_tries;
  } else if (!known.best || speedup > known.speedup) {
    known.best = number;
    known.speedup = speedup;
  }
}

}  // namespace cuco::search
