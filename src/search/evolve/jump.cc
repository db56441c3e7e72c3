// SPDX-License-Identifier: Apache-2.0
#include "search/evolve/jump.h"

#include <algorithm>
#include <map>
#include <vector>

#include "design/dimensions.h"

namespace cuco::search {
namespace {
using design::Directive;

constexpr std::size_t kLeastKnown = 4;     ///< Fewer designs teach nothing.
constexpr std::size_t kStarts = 4;         ///< The fastest designs that are changed.
constexpr std::size_t kMostDesigns = 256;  ///< That are looked at.
constexpr double kLeastPromise = 1e-3;

/// For each dimension one design of the run for each of its values.
std::vector<std::vector<const Directive*>> values_seen(const DesignForecast& forecast) {
  std::vector<std::vector<const Directive*>> list;
  for (const design::Dimension& dimension : design::dimensions()) {
    std::map<double, const Directive*> values;
    for (const auto& [directive, known] : forecast.known())
      values.emplace(dimension.value(directive), &directive);
    auto& seen = list.emplace_back();
    for (const auto& [value, directive] : values)
      seen.push_back(directive);
  }
  return list;
}

std::vector<Directive> fastest(const DesignForecast& forecast) {
  std::vector<std::pair<double, const Directive*>> all;
  for (const auto& [directive, known] : forecast.known()) {
    if (known.correct > 0) all.emplace_back(known.speedup, &directive);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Directive> list;
  for (std::size_t i = 0; i < std::min(kStarts, all.size()); ++i)
    list.push_back(*all[i].second);
  return list;
}

/// Designs that differ from one of the `starts` in one dimension.
std::set<Directive> neighbours(const std::vector<Directive>& starts,
                               const std::vector<std::vector<const Directive*>>& values) {
  std::set<Directive> made;
  const auto dimensions = design::dimensions();
  for (const Directive& start : starts) {
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      for (const Directive* other : values[i]) {
        Directive changed = start;
        dimensions[i].copy(*other, &changed);
        if (made.size() < kMostDesigns) made.insert(changed);
      }
    }
  }
  return made;
}

candidate::Number most_alike(const DesignForecast& forecast, const Directive& directive) {
  candidate::Number found = candidate::kSeed;
  int least = 0;
  double speedup = 0;
  for (const auto& [other, known] : forecast.known()) {
    if (known.correct == 0) continue;
    const int away = design::distance(directive, other);
    const bool nearer = away < least || (away == least && known.speedup > speedup);
    if (speedup > 0 && !nearer) continue;
    found = known.best;
    least = away;
    speedup = known.speedup;
  }
  return found;
}

}  // namespace

std::optional<Jump> best_jump(const DesignForecast& forecast,
                              const std::set<Directive>& asked,
                              const IsValid& is_valid) {
  if (forecast.known().size() < kLeastKnown) return std::nullopt;
  const std::vector<Directive> starts = fastest(forecast);
  if (starts.empty()) return std::nullopt;
  const double best = forecast.known().at(starts.front()).speedup;
  const auto values = values_seen(forecast);
  const auto is_open = [&](const Directive& directive) {
    return !forecast.known().contains(directive) && !asked.contains(directive) &&
           (!is_valid || is_valid(directive));
  };
  const auto choose = [&](const std::set<Directive>& designs) {
    std::optional<Directive> found;
    double most = kLeastPromise;
    for (const Directive& directive : designs) {
      if (!is_open(directive)) continue;
      const double promise = forecast.promise(directive, best);
      if (promise <= most) continue;
      most = promise;
      found = directive;
    }
    return std::pair(found, most);
  };
  auto [found, promise] = choose(neighbours(starts, values));
  if (found) {
    // One more dimension may promise more still.
    const auto [further, more] = choose(neighbours({*found}, values));
    if (further && more > promise) found = further;
  }
  if (!found) return std::nullopt;
  return Jump{*found, most_alike(forecast, *found), forecast.expect(*found)};
}

}  // namespace cuco::search
