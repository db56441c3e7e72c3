// SPDX-License-Identifier: Apache-2.0
/// \file
/// Promotion: who of those with a verdict at one rung is judged at the next. Successive halving,
/// relative to peers: no absolute threshold says what is fast enough.
#pragma once

#include <cstddef>
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

}  // namespace cuco::search
