// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which programs leave the order of a run's work to whoever knows its hazards.
#pragma once

#include "analysis/communication_graph.h"
#include "base/result.h"

namespace cuco::expert::lanes {

/// Of a split workload. The error names the call that orders work itself, or whose work is not
/// known.
[[nodiscard]] Result<void> check_run(const analysis::CommunicationGraph& graph);

/// Of a program with main(), which may look at its streams and order them.
[[nodiscard]] Result<void> check_program(const analysis::CommunicationGraph& graph);

}  // namespace cuco::expert::lanes
