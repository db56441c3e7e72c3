// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who is to be improved next: the published rules, as weights.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/rng.h"
#include "candidate/candidate.h"
#include "search/policy.h"

namespace cuco::search {

struct ParentChoice {
  candidate::Number number = candidate::kSeed;
  double fitness = 0;
  int children = 0;  ///< Asked for so far, those on their way included.
};

/// In proportion to these each is chosen; all zero only if there are none.
///
/// Weighted (ShinkaEvolve, lambda 10): sigmoid(lambda (s - median) / MAD) / (1 + children).
/// PowerLaw: rank^-1, the fastest has rank 1. Best: the fastest alone. Start, Random: all the same.
[[nodiscard]] std::vector<double> parent_weights(ParentRule rule,
                                                 std::span<const ParentChoice> choices);

/// An index with a probability in proportion to its weight; at least one must be above 0.
[[nodiscard]] std::size_t draw(std::span<const double> weights, Rng& rng);

}  // namespace cuco::search
