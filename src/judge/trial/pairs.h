// SPDX-License-Identifier: Apache-2.0
/// \file
/// Two programs side by side on one real GPU, iteration by iteration, until one is known to be
/// faster or not.
///
/// Pairs within two processes are not independent: one of two processes with the same program may
/// be some microseconds faster for all its life (seen on an H200, and enough to "win"). So both
/// are started anew after a few pairs, and the test sees one mean for each start.
#pragma once

#include <string>
#include <variant>

#include "base/result.h"
#include "judge/trial/bench.h"
#include "judge/trial/trial_spec.h"
#include "measure/paired_test.h"

namespace cuco::judge {

struct PairTimes {
  TrialTimes incumbent;
  TrialTimes candidate;
  measure::Decision decision = measure::Decision::Reject;
  measure::Interval speedup;  ///< Of the candidate over the incumbent.
  std::size_t starts = 0;     ///< That count; each gives one sample to the test.
  std::size_t throttled = 0;  ///< Samples that were dropped, with their pair.
  std::size_t disturbed = 0;
};

struct MeasuredShape {
  std::string shape;
  PairTimes times;
};
/// "prefill: faster than the seed after 5 starts of both with 20 pairs, speedup between 1.63 and
/// 1.82 (95 %, at any time)"
[[nodiscard]] std::string describe(const MeasuredShape& measured);

using PairResult = std::variant<PairTimes, candidate::Outcome>;

struct PairRules {
  measure::PairedTest::Rules test;  ///< Its pairs are our starts.
  int pairs_per_start = 4;
};

/// Pairs until the test decides. The incumbent must not fail: that is an Error.
[[nodiscard]] Result<PairResult> run_pairs(const TrialSpec& incumbent,
                                           const TrialSpec& candidate,
                                           BenchMaker& maker,
                                           const PairRules& rules);

}  // namespace cuco::judge
