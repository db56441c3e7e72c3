// SPDX-License-Identifier: Apache-2.0
/// \file
/// Designs that fit programs of any kind, because they do not ask what is computed: how the host
/// hands work to the GPU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"
#include "base/result.h"
#include "expert/edit.h"

namespace cuco::expert {

/// Records the work of cuco_run in set-up, one CUDA graph per buffer set, and replays it: one host
/// launch instead of many.
[[nodiscard]] Result<void> add_replay(const analysis::CommunicationGraph& graph,
                                      std::string_view text,
                                      Edits& edits);
[[nodiscard]] Result<std::string> replay_by_graph(const analysis::CommunicationGraph& graph,
                                                  std::string_view text);

}  // namespace cuco::expert
