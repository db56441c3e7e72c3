// SPDX-License-Identifier: Apache-2.0
/// \file
/// One trial: a built candidate, one shape, several iterations with fresh inputs, each checked in
/// full view of the clock.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "base/result.h"
#include "candidate/outcome.h"
#include "evaluation/oracle.h"
#include "evaluation/secret.h"
#include "evaluation/stages.h"
#include "evaluation/virtual_cluster.h"
#include "evaluation/workload.h"
#include "measure/paired_test.h"

namespace cuco::evaluation {

class GpuReference;

/// Bytes by iteration, rank and output.
using TrialOutputs = std::map<std::tuple<int, int, std::size_t>, std::string>;

struct TrialSpec {
  const Workload& workload;
  const Shape& shape;
  const Secret& secret;
  system::Path candidate;  ///< The shared object.
  ClusterSpec cluster;
  system::Tier tier = system::Tier::Hostile;
  /// Hold a rank back in every iteration but the first: one that does not wait for it is done
  /// before its data is there; and once deliver everything late. Not for timing.
  bool hold_back = false;
  std::size_t check_limit = ~0U;      ///< Elements of each output that are checked; see compare().
  GpuReference* reference = nullptr;  ///< If there is one, it checks the others too.
  bool keep_outputs = false;
  /// Another program's outputs from the same inputs, to compare every element with where the
  /// reference sees a sample.
  const TrialOutputs* like = nullptr;
  Stages* stages = nullptr;
};

/// Right in every iteration; the slowest rank's seconds of each.
struct TrialTimes {
  std::vector<double> seconds;
  TrialOutputs outputs;  ///< If they were to be kept.
  std::string gpu;       ///< The name of the real one.
};

using TrialResult = std::variant<TrialTimes, candidate::Outcome>;

/// Two programs side by side on one real GPU, iteration by iteration.
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

/// The outcome is the candidate's; an Error is ours.
[[nodiscard]] Result<TrialResult> run_trial(const TrialSpec& spec, Oracle& oracle);

/// Starts `ranks` processes with the candidate, to be told what to do through `cluster`.
[[nodiscard]] Result<system::Process> start_ranks(const TrialSpec& spec,
                                                  const VirtualCluster& cluster);

}  // namespace cuco::evaluation
