// SPDX-License-Identifier: Apache-2.0
#include "search/selection/bandit.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "search/selection/parents.h"

namespace cuco::search {

const Bandit::Record& Bandit::record(const Arm& arm) const {
  static const Record kNone;
  const auto found = records_.find(arm);
  return found == records_.end() ? kNone : found->second;
}

void Bandit::end(const Arm& arm, double gain, double cost) {
  for (auto& [other, record] : records_) {
    record.pulls *= rules_.decay;
    record.gains *= rules_.decay;
    record.costs *= rules_.decay;
  }
  Record& record = records_[arm];
  record.in_flight = std::max(record.in_flight - 1, 0);
  record.pulls += 1;
  record.gains += std::expm1(std::max(gain, 0.0));
  record.costs += cost;
  ++record.all;
}

std::vector<double> Bandit::scores(std::span<const Arm> arms) const {
  double tries = 0;
  double largest = 0;
  for (const Arm& arm : arms) {
    const Record& known = record(arm);
    tries += known.tries();
    largest = std::max(largest, known.gains / std::max(known.pulls, 1e-9));
  }
  std::vector<double> list;
  for (const Arm& arm : arms) {
    const Record& known = record(arm);
    const double mean = known.gains / std::max(known.pulls, 1e-9);
    const double utility = largest > 0 ? mean / largest : 0;
    list.push_back(utility + rules_.exploration *
                                 std::sqrt(2 * std::log(std::max(tries, 1.0)) / known.tries()));
  }
  return list;
}

std::vector<double> Bandit::thrift(std::span<const Arm> arms) const {
  std::vector<double> costs;
  for (const Arm& arm : arms) {
    const Record& known = record(arm);
    costs.push_back(known.pulls > 0 ? known.costs / known.pulls : 0);
  }
  std::vector<double> sorted = costs;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.back() <= 0) return {};  // nobody costs anything: there is nothing to save
  const double middle = std::max(sorted[sorted.size() / 2], 1.0);
  double largest = 0;
  for (double& cost : costs) {
    cost = middle / std::max(cost, 1.0);
    largest = std::max(largest, cost);
  }
  for (double& cost : costs)
    cost /= largest;
  return costs;
}

std::size_t Bandit::choose(std::span<const Arm> arms, Rng& rng) const {
  CUCO_ASSERT(!arms.empty());
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (record(arms[i]).tries() <= 0) return i;
  }
  if (rng.uniform() < rules_.epsilon) return static_cast<std::size_t>(rng.below(arms.size()));
  std::vector<double> final_scores = scores(arms);
  if (const auto saved = thrift(arms); !saved.empty()) {
    for (std::size_t i = 0; i < arms.size(); ++i) {
      final_scores[i] = (1 - rules_.cost_share) * final_scores[i] + rules_.cost_share * saved[i];
    }
  }
  const auto best = std::max_element(final_scores.begin(), final_scores.end());
  return static_cast<std::size_t>(best - final_scores.begin());
}

}  // namespace cuco::search
