// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs of a workload's seed that are only looked at: which blocks touch which bytes, and when.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "judge/program_judge.h"
#include "workload/workload.h"

namespace cuco::judge {

/// Three shapes beside each timed one, a little smaller, in which the parameters change
/// independently of each other: what a formula is fitted on and tried with. Shapes with other
/// element types are others' neighbours. A workload without ranges has the timed ones themselves.
[[nodiscard]] Result<std::vector<workload::Shape>> shapes_to_trace(
    const workload::Workload& workload);

struct TracedShape {
  workload::Shape shape;
  std::string report;  ///< See vcluster/watch/run_report.h; with blocks.
};

/// The last of two iterations on each shape. The inputs are the same on every machine. InvalidInput
/// says why the seed does not run. `progress` is told what comes next; `is_stopped` is asked
/// between the steps, and ends it with Unavailable.
[[nodiscard]] Result<std::vector<TracedShape>> trace_seed(
    const JudgeOptions& options,
    const std::function<void(std::string_view)>& progress,
    const std::function<bool()>& is_stopped);

}  // namespace cuco::judge
