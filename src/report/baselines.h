// SPDX-License-Identifier: Apache-2.0
/// \file
/// What simpler ways would have made of a run's own candidates on the same budget: drawing them at
/// random, and taking the best of those that start from the seed.
#pragma once

#include <string>

#include "candidate/run_state.h"

namespace cuco::report {

struct Baselines {
  int candidates = 0;  ///< That proposers were asked for, the fast path's left out.
  int found_at = 0;    ///< So many until one had 99 % of the winner's speed; 0: there is no winner.
  int drawn_at = 0;    ///< The same, drawn at random: the median.
  int from_start = 0;  ///< Candidates that were made of the seed, nobody else's child;
  double best_from_start = 0;  ///< speed-up of the fastest of these on the winner's shapes.
};

/// Those that full shapes were not spent on count as slower than the winner.
[[nodiscard]] Baselines baselines(const candidate::RunState& state);

/// Time of the best candidate made from the seed, on the winner's shapes; 0: there is none, or it
/// is the winner's own way.
[[nodiscard]] double best_from_start_seconds(const candidate::RunState& state);

/// "found as the 4th of 24; drawn at random from the same 24 it takes 12 (median)"; empty where
/// there is too little to compare.
[[nodiscard]] std::string baselines_text(const Baselines& baselines);

}  // namespace cuco::report
