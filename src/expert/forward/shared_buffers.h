// SPDX-License-Identifier: Apache-2.0
/// \file
/// Buffers that peers write must be symmetric memory: the workload's outputs are, and what the
/// program allocates becomes it.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"
#include "base/result.h"
#include "expert/edit.h"

namespace cuco::expert::forward {

/// Other allocations and releases for the buffers. Whether some are outputs of a workload, which
/// set-up has to share. The error says which buffer cannot be written by peers.
[[nodiscard]] Result<bool> share_buffers(const analysis::CommunicationGraph& graph,
                                         std::string_view text,
                                         const std::vector<int>& buffers,
                                         Edits& edits);

}  // namespace cuco::expert::forward
