// SPDX-License-Identifier: Apache-2.0
/// \file
/// The slow path: candidates from proposers, raced through rising fidelities.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "candidate/run.h"

namespace cuco::search {

struct Budget {
  int candidates = 40;  ///< Including the seed and rejected proposals.
  std::optional<double> wall_seconds;
};

struct SearchOptions {
  Budget budget;
  candidate::Number incumbent = candidate::kSeed;  ///< The fastest so far.
  candidate::Number start = candidate::kSeed;  ///< What to improve while nothing beats the seed.
  int finalists = 5;                           ///< At most so many are judged at Scaled fidelity.
};

struct SearchResult {
  std::optional<candidate::Number> winner;  ///< Faster than the seed at Final fidelity.
  std::string reason;                       ///< Why the search ended.
};

/// Needs the seed (candidate 0) judged already. Proposers
/// are asked in turn; one without further ideas drops out, and so does one that cannot be asked
/// time after time. The result is the same for the same run state, proposers and options.
[[nodiscard]] Result<SearchResult> search(candidate::Run& run,
                                          std::span<candidate::Proposer* const> proposers,
                                          const SearchOptions& options);

}  // namespace cuco::search
