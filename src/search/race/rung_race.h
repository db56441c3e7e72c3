// SPDX-License-Identifier: Apache-2.0
/// \file
/// Race: from all that have a verdict at the lowest rung to the one that the highest accepts.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "candidate/run.h"
#include "search/race/promotion.h"

namespace cuco::search {

class Race {
 public:
  /// `finalists` as in SearchOptions. The run must outlive it.
  Race(candidate::Run& run, int finalists);

  /// Halves the field until few enough are left, and gives those full shapes. Verdicts that are
  /// known are not made again: it may be run again when there are more candidates. `most` can only
  /// be less than the finalists.
  Result<void> promote(int most = std::numeric_limits<int>::max());

  /// The first in rank that the highest rung accepts, as the run's best.
  Result<std::optional<candidate::Number>> confirm();

  [[nodiscard]] candidate::Rung rung(candidate::Fidelity fidelity) const {
    return {target_, fidelity};
  }

 private:
  /// All with a time at that rung.
  [[nodiscard]] std::vector<Standing> peers(candidate::Fidelity fidelity) const;

  candidate::Run& run_;
  PromotionRules rules_;
  candidate::TargetKind target_;
};

}  // namespace cuco::search
