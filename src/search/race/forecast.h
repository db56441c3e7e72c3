// SPDX-License-Identifier: Apache-2.0
/// \file
/// Forecast: what a speed-up on a small shape lets expect on full ones, and how sure that is.
/// Learnt from candidates that were judged at both rungs, region by region; before there are any,
/// the small shape is believed.
#pragma once

#include <cmath>
#include <map>

#include "search/population/cell.h"

namespace cuco::search {

class Forecast {
 public:
  /// A candidate of that region had these speed-ups; both must be above 0.
  void learn(const Region& region, double small, double full) {
    const double ratio = std::log(full / small);
    add(&all_, ratio);
    add(&regions_[region], ratio);
  }

  [[nodiscard]] double expect(const Region& region, double small) const {
    const Sum own = of(region);
    // One pair's worth of what all regions say keeps a single outlier from deciding.
    const double common = all_.count > 0 ? all_.sum / all_.count : 0;
    return small * std::exp((own.sum + common) / (own.count + 1));
  }

  /// Of the logarithm of what expect() says: how far the two rungs have disagreed so far, within
  /// regions, and from one to another where little is known of this one.
  [[nodiscard]] double deviation(const Region& region) const {
    double within = kPriorPairs * kWithin * kWithin;
    double within_count = kPriorPairs;
    double between = kPriorPairs * kBetween * kBetween;
    double between_count = kPriorPairs;
    for (const auto& [other, sum] : regions_) {
      const double mean = sum.sum / sum.count;
      within += sum.squares - sum.count * mean * mean;
      within_count += sum.count - 1;
      const double away = mean - all_.sum / all_.count;
      between += away * away;
      between_count += 1;
    }
    within /= within_count;
    between /= between_count;
    const double own = of(region).count + 1;
    return std::sqrt(within * (1 + (own - 1) / (own * own)) + between / (own * own));
  }

  /// How many pairs it was learnt from.
  [[nodiscard]] int pairs() const { return static_cast<int>(all_.count); }

 private:
  /// Before anything is known: two programs of one design, and two designs.
  static constexpr double kWithin = 0.1;
  static constexpr double kBetween = 0.4;
  static constexpr double kPriorPairs = 2;  ///< What that is worth.

  struct Sum {
    double count = 0;
    double sum = 0;
    double squares = 0;
  };
  static void add(Sum* sum, double value) {
    sum->count += 1;
    sum->sum += value;
    sum->squares += value * value;
  }
  [[nodiscard]] Sum of(const Region& region) const {
    const auto found = regions_.find(region);
    return found == regions_.end() ? Sum{} : found->second;
  }

  Sum all_;
  std::map<Region, Sum> regions_;
};

}  // namespace cuco::search
