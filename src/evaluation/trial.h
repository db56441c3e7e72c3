// SPDX-License-Identifier: Apache-2.0
/// \file
/// One trial: a built candidate, one shape, several iterations with fresh inputs, each checked in
/// full view of the clock.
#pragma once

#include <variant>
#include <vector>

#include "base/result.h"
#include "candidate/outcome.h"
#include "evaluation/oracle.h"
#include "evaluation/secret.h"
#include "evaluation/virtual_cluster.h"
#include "evaluation/workload.h"

namespace cuco::evaluation {

class GpuReference;

struct TrialSpec {
  const Workload& workload;
  const Shape& shape;
  const Secret& secret;
  system::Path candidate;  ///< The shared object.
  ClusterSpec cluster;
  system::Tier tier = system::Tier::Hostile;
  /// Hold a rank back in every iteration but the first: one that does not wait for it is done
  /// before its data is there. Not for timing.
  bool hold_back = false;
  std::size_t check_limit = ~0U;      ///< Elements of each output that are checked; see compare().
  GpuReference* reference = nullptr;  ///< If there is one, it checks the others too.
};

/// Right in every iteration; the slowest rank's seconds of each.
struct TrialTimes {
  std::vector<double> seconds;
};

using TrialResult = std::variant<TrialTimes, candidate::Outcome>;

/// The outcome is the candidate's; an Error is ours.
[[nodiscard]] Result<TrialResult> run_trial(const TrialSpec& spec, Oracle& oracle);

/// Starts `ranks` processes with the candidate, to be told what to do through `cluster`.
[[nodiscard]] Result<system::Process> start_ranks(const TrialSpec& spec,
                                                  const VirtualCluster& cluster);

}  // namespace cuco::evaluation
