// SPDX-License-Identifier: Apache-2.0
/// \file
/// What seed and winner of a run did when: recorded once, kept in the run's folder as trace.json
/// (for trace viewers) and timeline.json (for reports).
#pragma once

#include <optional>

#include "candidate/run_state.h"
#include "report/timeline/rank_timeline.h"
#include "store/run_folder.h"

namespace cuco::cli {

/// What was recorded of that candidate; nothing if it was not, or of another one.
[[nodiscard]] std::optional<report::Timeline> kept_timeline(const store::RunFolder& folder,
                                                            candidate::Number number);

/// Runs seed and candidate once more on the virtual cluster, on a small shape. NotFound: there is
/// no source to run. The same programs as in the run: it needs the workload and a compiler.
[[nodiscard]] Result<report::Timeline> record_timeline(const candidate::RunState& state,
                                                       const store::RunFolder& folder,
                                                       candidate::Number number);

}  // namespace cuco::cli
