// SPDX-License-Identifier: Apache-2.0
/// \file
/// FullSpeed: a candidate's speed-up on full shapes, judged or expected.
#pragma once

#include "candidate/run.h"
#include "search/race/forecast.h"

namespace cuco::search {

class FullSpeed {
 public:
  /// `small`: the rung where candidates come in. The run must outlive it.
  FullSpeed(const candidate::Run& run, candidate::Rung small) : run_(run), small_(small) {}

  /// What candidates that were judged at both rungs show.
  void learn() {
    forecast_ = {};
    for (candidate::Number number = candidate::kSeed + 1; number < run_.candidates(); ++number) {
      const double small = run_.speedup(number, small_);
      const double scaled = run_.speedup(number, full());
      if (small > 0 && scaled > 0) forecast_.learn(region(number), small, scaled);
    }
  }

  /// Over the seed; 0: it is not correct, as far as is known.
  [[nodiscard]] double of(candidate::Number number) const {
    if (number == candidate::kSeed) return 1;
    if (const double scaled = run_.speedup(number, full()); scaled > 0) return scaled;
    const double small = run_.speedup(number, small_);
    return small > 0 ? forecast_.expect(region(number), small) : 0;
  }

  [[nodiscard]] candidate::Rung full() const {
    return {small_.target, candidate::Fidelity::Scaled};
  }

 private:
  [[nodiscard]] Region region(candidate::Number number) const {
    return region_of(run_.entry(number).candidate.directive);
  }

  const candidate::Run& run_;
  candidate::Rung small_;
  Forecast forecast_;
};

}  // namespace cuco::search
