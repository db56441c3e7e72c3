// SPDX-License-Identifier: Apache-2.0
/// \file
/// Two programs side by side on one real GPU, iteration by iteration, until one is known to be
/// faster or not.
#pragma once

#include <variant>

#include "base/result.h"
#include "evaluation/trial_spec.h"
#include "measure/paired_test.h"

namespace cuco::evaluation {

struct PairTimes {
  TrialTimes incumbent;
  TrialTimes candidate;
  measure::Decision decision = measure::Decision::Reject;
  measure::Interval speedup;  ///< Of the candidate over the incumbent.
};
using PairResult = std::variant<PairTimes, candidate::Outcome>;

/// Pairs until the test decides. The incumbent must not fail: that is an Error.
[[nodiscard]] Result<PairResult> run_pairs(const TrialSpec& incumbent,
                                           const TrialSpec& candidate,
                                           const system::Path& oracle,
                                           const measure::PairedTest::Rules& rules);

}  // namespace cuco::evaluation
