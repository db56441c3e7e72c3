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

enum class Strategy {
  Race,     ///< Everything at low fidelity, the better half goes on; proposers see the verdicts.
  BestOfN,  ///< Baseline: every proposal improves the seed, all are judged alike.
};

struct Budget {
  int candidates = 40;  ///< Including the seed and rejected proposals.
  std::optional<double> wall_seconds;
};

struct SearchOptions {
  Strategy strategy = Strategy::Race;
  Budget budget;
  int batch = 2;      ///< Proposals that are asked for before their verdicts are seen.
  int finalists = 4;  ///< At most so many are judged at Standard fidelity.
};

struct SearchResult {
  std::optional<candidate::Number> winner;  ///< Faster than the seed at Final fidelity.
  std::string reason;                       ///< Why the search ended.
};

/// Needs the seed (candidate 0) judged already. Proposers are asked in turn; one without further
/// ideas drops out. The result is the same for the same run state, proposers and options.
[[nodiscard]] Result<SearchResult> search(candidate::Run& run,
                                          std::span<candidate::Proposer* const> proposers,
                                          const SearchOptions& options);

}  // namespace cuco::search
