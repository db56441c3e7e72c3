// SPDX-License-Identifier: Apache-2.0
#include "search/selection/parents.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/assert.h"

namespace cuco::search {
namespace {

constexpr double kLambda = 10;
constexpr double kLeastDeviation = 1e-6;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<double> weighted(std::span<const ParentChoice> choices) {
  std::vector<double> values;
  for (const ParentChoice& choice : choices)
    values.push_back(choice.fitness);
  const double middle = median(values);
  for (double& value : values)
    value = std::abs(value - middle);
  const double deviation = std::max(median(values), kLeastDeviation);
  std::vector<double> weights;
  for (const ParentChoice& choice : choices) {
    const double z = kLambda * (choice.fitness - middle) / deviation;
    // A weight of 0 would shut a parent out for good, and rounding is no reason for that.
    const double sigmoid = std::max(1 / (1 + std::exp(-z)), 1e-12);
    weights.push_back(sigmoid / (1 + choice.children));
  }
  return weights;
}

bool is_faster(const ParentChoice& a, const ParentChoice& b) {
  return a.fitness != b.fitness ? a.fitness > b.fitness : a.number < b.number;
}

std::vector<double> by_rank(std::span<const ParentChoice> choices) {
  std::vector<double> weights;
  for (const ParentChoice& choice : choices) {
    const auto faster = std::count_if(choices.begin(), choices.end(),
                                      [&](const auto& other) { return is_faster(other, choice); });
    weights.push_back(1 / (1 + static_cast<double>(faster)));
  }
  return weights;
}

}  // namespace

std::vector<double> parent_weights(ParentRule rule, std::span<const ParentChoice> choices) {
  if (choices.empty()) return {};
  switch (rule) {
    case ParentRule::Weighted:
      return weighted(choices);
    case ParentRule::PowerLaw:
      return by_rank(choices);
    case ParentRule::Best: {
      std::vector<double> weights(choices.size(), 0);
      const auto best = std::min_element(choices.begin(), choices.end(), is_faster);
      weights[static_cast<std::size_t>(best - choices.begin())] = 1;
      return weights;
    }
    case ParentRule::Start:
    case ParentRule::Random:
      break;
  }
  return std::vector<double>(choices.size(), 1);
}

std::size_t draw(std::span<const double> weights, Rng& rng) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  CUCO_ASSERT(all > 0);
  double left = rng.uniform() * all;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    left -= weights[i];
    if (left < 0) return i;
  }
  return last;  // rounding
}

}  // namespace cuco::search
