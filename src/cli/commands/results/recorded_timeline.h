// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a candidate of a run and the seed did when: recorded once, kept in the run's folder for
/// trace viewers, reports and the dashboard.
#pragma once

#include <optional>

#include "candidate/run_state.h"
#include "report/timeline/rank_timeline.h"
#include "store/run_folder.h"

namespace cuco::cli {

/// What was recorded of that candidate; nothing if it was not, or of another one.
[[nodiscard]] std::optional<report::Timeline> kept_timeline(const store::RunFolder& folder,
                                                            candidate::Number number);

/// NotFound where the workload's program is not the run's any more: what is judged now would be
/// compared with another program.
[[nodiscard]] Result<void> check_seed(const candidate::RunState& state);

/// Runs seed and candidate once more on the virtual cluster, on a small shape, and keeps what both
/// did. The same programs as in the run: it needs the workload and a compiler. NotFound: there is
/// no such candidate, or it is not one that a judge would time.
[[nodiscard]] Result<report::Timeline> record_timeline(const candidate::RunState& state,
                                                       const store::RunFolder& folder,
                                                       candidate::Number number);

}  // namespace cuco::cli
