// SPDX-License-Identifier: Apache-2.0
/// \file
/// The job in which the ranks' processes live, with the candidate in them.
#pragma once

#include "base/result.h"
#include "evaluation/trial_spec.h"

namespace cuco::evaluation {

/// Starts `ranks` processes with the candidate, to be told what to do through `cluster`.
[[nodiscard]] Result<system::Process> start_ranks(const TrialSpec& spec,
                                                  const VirtualCluster& cluster);

}  // namespace cuco::evaluation
