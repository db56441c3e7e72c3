// SPDX-License-Identifier: Apache-2.0
/// \file
/// Buffers that peers write must be symmetric memory: the workload's outputs are, and what the
/// program allocates becomes it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"
#include "base/result.h"

namespace cuco::expert::forward {

struct SharedBuffers {
  bool outputs = false;  ///< Some are outputs of a workload, which set-up has to share.
  /// Places of names, and whether it is an allocation that is shared; if not, it is a release, and
  /// of what is not known.
  std::map<std::size_t, bool> names;
};

/// The error says which buffer cannot be written by peers.
[[nodiscard]] Result<SharedBuffers> share_buffers(const analysis::CommunicationGraph& graph,
                                                  std::string_view text,
                                                  const std::vector<int>& buffers);

/// Other allocations and releases. `laned`: those that lanes know of, too.
[[nodiscard]] std::map<std::size_t, std::string> drop_ins_for(const SharedBuffers& shared,
                                                              bool laned);

}  // namespace cuco::expert::forward
