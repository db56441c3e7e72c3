// SPDX-License-Identifier: Apache-2.0
/// \file
/// Promotion: who of those with a verdict at one rung is judged at the next, relative to peers: no
/// absolute threshold says what is fast enough. A cheap rung takes the better half; full shapes get
/// those that may still turn out to be the fastest.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <vector>

#include "candidate/candidate.h"
#include "search/population/cell.h"

namespace cuco::search {

struct Standing {
  candidate::Number number = candidate::kSeed;
  Region region;
  double speedup = 0;  ///< Over the seed, at the rung that all of them have been judged at.
};

struct PromotionRules {
  std::size_t most = 5;    ///< At most so many go on beside the regions' best.
  double hopeless = 0.25;  ///< A region's best goes on unless it has less of the leader's speed.
};

/// The better half, at least one and at most `most`; and the best of every region, wherever it
/// stands: what tells designs apart on full shapes, a small one does not show. The regions' best
/// come first, each part the fastest first; of equal ones the older comes first.
[[nodiscard]] std::vector<candidate::Number> promoted(std::vector<Standing> peers,
                                                      const PromotionRules& rules);

/// One that has no full shapes yet.
struct Challenger {
  candidate::Number number = candidate::kSeed;
  Region region;
  double expected = 0;   ///< Speed-up over the seed on full shapes.
  double deviation = 0;  ///< Of its logarithm.
};

/// The best of each region that `known` does not hold, unless it is hopeless beside `leader`; the
/// fastest first.
[[nodiscard]] std::vector<candidate::Number> regions_best(std::span<const Challenger> challengers,
                                                          const std::set<Region>& known,
                                                          double leader,
                                                          const PromotionRules& rules);

/// At most `most` of those that may be expected to gain something over the `fastest` so far: the
/// expected improvement of each counts the chance that it is faster and by how much. Where rungs
/// have agreed, only near ties are left; where they disagree, many.
[[nodiscard]] std::vector<candidate::Number> worth_full_shapes(std::vector<Challenger> challengers,
                                                               double fastest,
                                                               std::size_t most);

}  // namespace cuco::search
