// SPDX-License-Identifier: Apache-2.0
/// \file
/// Forecast: what a speed-up on a small shape lets expect on full ones. Learnt from candidates that
/// were judged at both rungs, region by region; before there are any, the small shape is believed.
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
    const auto found = regions_.find(region);
    const Sum own = found == regions_.end() ? Sum{} : found->second;
    // One pair's worth of what all regions say keeps a single outlier from deciding.
    const double common = all_.count > 0 ? all_.sum / all_.count : 0;
    return small * std::exp((own.sum + common) / (own.count + 1));
  }

  /// How many pairs it was learnt from.
  [[nodiscard]] int pairs() const { return static_cast<int>(all_.count); }

 private:
  struct Sum {
    double count = 0;
    double sum = 0;
  };
  static void add(Sum* sum, double value) {
    sum->count += 1;
    sum->sum += value;
  }

  Sum all_;
  std::map<Region, Sum> regions_;
};

}  // namespace cuco::search
