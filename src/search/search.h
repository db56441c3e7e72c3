// SPDX-License-Identifier: Apache-2.0
/// \file
/// The slow path: candidates from proposers, raced through rising fidelities.
///
///     enumerate   proposers with a finite space of their own are asked for all of it
///     race        the better half, and the best of every design region, get full shapes
///     evolve      the others are asked to improve what has survived
///     confirm     the fastest that the highest fidelity accepts has won
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/run.h"
#include "search/budget.h"
#include "search/evolve/evolution.h"
#include "search/policy.h"

namespace cuco::search {

struct SearchOptions {
  Budget budget;
  candidate::Number incumbent = candidate::kSeed;  ///< The fastest so far.
  candidate::Number start = candidate::kSeed;  ///< What to improve while nothing beats the seed.
  Policy policy;
  Background background;
  int finalists = 5;  ///< Beside the best of every region, at most so many get full shapes.
};

struct SearchResult {
  std::optional<candidate::Number> winner;  ///< Faster than the seed at Final fidelity.
  std::string reason;                       ///< Why the search ended.
  bool repeatable = true;                   ///< No limit of time has decided anything.
};

/// Needs the seed (candidate 0) judged already. The result is the same for the same run state,
/// proposers and options, unless a limit of time ends it.
[[nodiscard]] Result<SearchResult> search(candidate::Run& run,
                                          std::span<candidate::Proposer* const> proposers,
                                          const SearchOptions& options);

}  // namespace cuco::search
