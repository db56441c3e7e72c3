// SPDX-License-Identifier: Apache-2.0
#include "search/forecast/design_forecast.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "design/dimensions.h"
#include "search/forecast/normal.h"

namespace cuco::search {
namespace {
using design::Directive;

/// Old designs that were not fast say little, and a fit takes time with the cube of their number.
constexpr std::size_t kMostFast = 48;
constexpr std::size_t kMostRecent = 48;
constexpr double kLeastDeviation = 0.05;  ///< Of log speed-ups: designs differ at least so much.
constexpr double kTogether = 0.3;         ///< What dimensions do together, beside what each does.
constexpr double kNoise = 0.02;           ///< Of the variance: knobs that a design does not name.
constexpr double kNineteenOfTwenty = 1.645;
constexpr double kBelief = 0.8;  ///< That a design works, before anything is known;
constexpr double kDoubt = 1.0;   ///< worth so many verdicts.

/// What two designs have in common: a sum over dimensions, and a product.
double kernel(const Directive& a, const Directive& b) {
  double sum = 0;
  double product = 1;
  for (const design::Dimension& dimension : design::dimensions()) {
    const double alike = design::likeness(dimension, a, b);
    sum += alike;
    product *= alike;
  }
  return sum + kTogether * product;
}

/// Decays of likeness in correctness: from "all designs alike" to "nothing but the nearest".
constexpr std::array kReaches = {0.0, 0.1, 0.25, 0.5, 1.0};
constexpr double kUsualReach = 0.5;
constexpr std::size_t kMostJudged = 64;  ///< Verdicts that a reach is chosen by.
constexpr std::size_t kLeastJudged = 6;

std::size_t row(std::size_t i) {
  return i * (i + 1) / 2;
}

/// In place; the matrix has noise on its diagonal, so it is positive definite.
void factorise(std::vector<double>* lower, std::size_t size) {
  auto& l = *lower;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = l[row(i) + j];
      for (std::size_t k = 0; k < j; ++k)
        sum -= l[row(i) + k] * l[row(j) + k];
      l[row(i) + j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / l[row(j) + j];
    }
  }
}

/// Solves L x = b.
void solve_lower(const std::vector<double>& l, std::vector<double>* values) {
  auto& x = *values;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k)
      x[i] -= l[row(i) + k] * x[k];
    x[i] /= l[row(i) + i];
  }
}

/// Solves L^T x = b.
void solve_upper(const std::vector<double>& l, std::vector<double>* values) {
  auto& x = *values;
  for (std::size_t i = x.size(); i-- > 0;) {
    x[i] /= l[row(i) + i];
    for (std::size_t k = 0; k < i; ++k)
      x[k] -= l[row(i) + k] * x[i];
  }
}

}  // namespace

void DesignForecast::learn(const Directive& directive, candidate::Number number, double speedup) {
  Known& known = known_[directive];
  is_fitted_ = false;
  known.age = ++learnt_;
  ++known.tries;
  if (speedup <= 0) return;
  ++known.correct;
  if (speedup <= known.speedup) return;
  known.speedup = speedup;
  known.best = number;
}

double DesignForecast::prior(const Directive& directive) const {
  return prior_ ? std::log(std::max(prior_(directive), 1e-3)) : 0;
}

std::vector<Directive> DesignForecast::chosen() const {
  std::vector<std::pair<const Directive*, const Known*>> all;
  for (const auto& [directive, known] : known_) {
    if (known.correct > 0) all.emplace_back(&directive, &known);
  }
  const auto take = [&](std::size_t most, auto first) {
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
    std::partial_sort(all.begin(), end, all.end(), first);
    return end;
  };
  std::vector<Directive> list;
  const auto keep = [&](auto end) {
    for (auto at = all.begin(); at != end; ++at)
      list.push_back(*at->first);
    all.erase(all.begin(), end);
  };
  keep(take(kMostFast, [](const auto& a, const auto& b) {
    return a.second->speedup != b.second->speedup ? a.second->speedup > b.second->speedup
                                                  : a.second->age < b.second->age;
  }));
  keep(take(kMostRecent,
            [](const auto& a, const auto& b) { return a.second->age > b.second->age; }));
  return list;
}

const DesignForecast::Fit& DesignForecast::fit() const {
  if (is_fitted_) return fit_;
  is_fitted_ = true;
  fit_ = {};
  fit_.designs = chosen();
  const std::size_t size = fit_.designs.size();
  std::vector<double> gains;
  for (const Directive& directive : fit_.designs)
    gains.push_back(std::log(known_.at(directive).speedup) - prior(directive));
  for (const double gain : gains)
    fit_.mean += gain / static_cast<double>(size + 1);  // one try's worth of "no gain"
  double spread = 0;
  for (double& gain : gains) {
    gain -= fit_.mean;
    spread += gain * gain / static_cast<double>(size);
  }
  // What varies shares the spread; what never did would share it, too, if it did.
  double varying = 0;
  for (const design::Dimension& dimension : design::dimensions()) {
    const bool varies =
        std::any_of(fit_.designs.begin(), fit_.designs.end(), [&](const Directive& directive) {
          return dimension.value(directive) != dimension.value(fit_.designs.front());
        });
    varying += varies ? 1 : 0;
  }
  fit_.variance = std::max(spread, kLeastDeviation * kLeastDeviation) / std::max(varying, 1.0);
  fit_.noise = kNoise * fit_.variance * std::max(varying, 1.0);
  fit_.factor.resize(row(size));
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      fit_.factor[row(i) + j] =
          fit_.variance * kernel(fit_.designs[i], fit_.designs[j]) + (i == j ? fit_.noise : 0);
    }
  }
  factorise(&fit_.factor, size);
  solve_lower(fit_.factor, &gains);
  solve_upper(fit_.factor, &gains);
  fit_.weights = std::move(gains);
  return fit_;
}

DesignForecast::Normal DesignForecast::gain(const Directive& directive) const {
  const Fit& known = fit();
  if (known.designs.empty()) return {prior(directive), 10 * kLeastDeviation};
  std::vector<double> shared;
  double mean = prior(directive) + known.mean;
  for (std::size_t i = 0; i < known.designs.size(); ++i) {
    shared.push_back(known.variance * kernel(directive, known.designs[i]));
    mean += shared.back() * known.weights[i];
  }
  double variance = known.variance * kernel(directive, directive);
  solve_lower(known.factor, &shared);
  for (const double part : shared)
    variance -= part * part;
  return {mean, std::sqrt(std::max(variance, 0.0) + known.noise)};
}

double DesignForecast::reach() const {
  if (known_.size() < kLeastJudged) return kUsualReach;
  // It changes slowly: no need to look after every verdict.
  if (reach_of_ > 0 && learnt_ < reach_of_ + std::max<std::size_t>(reach_of_ / 8, 1)) return reach_;
  reach_of_ = learnt_;
  std::vector<std::pair<const Directive*, const Known*>> judged;
  for (const auto& [directive, known] : known_)
    judged.emplace_back(&directive, &known);
  if (judged.size() > kMostJudged) {
    std::ranges::nth_element(
        judged, judged.begin() + kMostJudged,
        [](const auto& a, const auto& b) { return a.second->age > b.second->age; });
    judged.resize(kMostJudged);
  }
  // What each verdict's chance was, told by all the others.
  double best = -std::numeric_limits<double>::infinity();
  for (const double reach : kReaches) {
    double likelihood = 0;
    for (const auto& [one, mine] : judged) {
      double tries = kDoubt;
      double correct = kBelief * kDoubt;
      for (const auto& [other, theirs] : judged) {
        if (one == other) continue;
        const double alike = std::exp(-reach * design::distance(*one, *other));
        tries += alike * theirs->tries;
        correct += alike * theirs->correct;
      }
      const double chance = std::clamp(correct / tries, 0.01, 0.99);
      likelihood += mine->correct > 0 ? std::log(chance) : std::log(1 - chance);
    }
    if (likelihood <= best) continue;
    best = likelihood;
    reach_ = reach;
  }
  return reach_;
}

double DesignForecast::chance(const Directive& directive) const {
  double tries = kDoubt;
  double correct = kBelief * kDoubt;
  const double decay = reach();
  for (const auto& [other, known] : known_) {
    const double alike = std::exp(-decay * design::distance(directive, other));
    tries += alike * known.tries;
    correct += alike * known.correct;
  }
  return correct / tries;
}

candidate::Forecast DesignForecast::expect(const Directive& directive) const {
  const Normal expected = gain(directive);
  return {.speedup = std::exp(expected.mean),
          .low = std::exp(expected.mean - kNineteenOfTwenty * expected.deviation),
          .high = std::exp(expected.mean + kNineteenOfTwenty * expected.deviation),
          .works = chance(directive)};
}

double DesignForecast::promise(const Directive& directive, double speedup, double unnamed) const {
  const Normal expected = gain(directive);
  return chance(directive) *
         expected_above(expected.mean, std::hypot(expected.deviation, unnamed), std::log(speedup));
}

}  // namespace cuco::search
