// SPDX-License-Identifier: Apache-2.0
/// \file
/// Race: from all that have a verdict at the lowest rung to the one that the highest accepts.
#pragma once

#include <limits>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "candidate/run.h"
#include "search/race/promotion.h"

namespace cuco::search {

class Race {
 public:
  /// `finalists` as in SearchOptions; `survey`: all get full shapes. The run must outlive it.
  Race(candidate::Run& run, int finalists, bool survey = false);

  /// Gives full shapes to the best of every region that has none yet, then, two at a time, to those
  /// that may be expected to gain most by what the two rungs have agreed on so far. It may be run
  /// again when there are more candidates. `most` can only be less than the finalists.
  Result<void> promote(int most = std::numeric_limits<int>::max());
  /// Gives full shapes to all that are correct, from that number on. For rounds of so few that each
  /// may have full shapes: of a design that was written otherwise a forecast knows little.
  Result<void> promote_from(candidate::Number first);

  /// The first in rank that the highest rung accepts, as the run's best. If it accepts none, a few
  /// more get full shapes.
  Result<std::optional<candidate::Number>> confirm();

  [[nodiscard]] candidate::Rung rung(candidate::Fidelity fidelity) const {
    return {target_, fidelity};
  }

 private:
  /// All with a time at that rung.
  [[nodiscard]] std::vector<Standing> peers(candidate::Fidelity fidelity) const;
  /// Those of a field that full shapes say nothing about yet, as they are expected to do there.
  struct Open {
    std::vector<Challenger> challengers;
    std::set<Region> regions;  ///< With a time on full shapes.
    double fastest = 1;        ///< On full shapes.
    double leader = 0;         ///< Judged or expected.
  };
  [[nodiscard]] Open open(std::span<const Standing> field) const;
  Result<std::optional<candidate::Number>> confirm_one(std::set<candidate::Number>* tried);

  candidate::Run& run_;
  PromotionRules rules_;
  bool survey_;
  candidate::TargetKind target_;
};

}  // namespace cuco::search
