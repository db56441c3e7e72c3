// SPDX-License-Identifier: Apache-2.0
/// \file
/// The job in which the ranks' processes live, with the candidate in them.
#pragma once

#include "base/result.h"
#include "judge/trial_spec.h"

namespace cuco::judge {

/// Starts `ranks` processes with the candidate, to be told what to do through `cluster`.
[[nodiscard]] Result<system::Process> start_ranks(const TrialSpec& spec,
                                                  const targets::VirtualCluster& cluster);

}  // namespace cuco::judge
