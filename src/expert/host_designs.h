// SPDX-License-Identifier: Apache-2.0
/// \file
/// Designs that fit programs of any kind, because they do not ask what is computed: how the host
/// hands work to the GPU, and how many threads a kernel is given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"
#include "base/result.h"

namespace cuco::expert {

/// Everything that the function behind cuco_run does is recorded in set-up, one CUDA graph for each
/// buffer set, and replayed: one launch by the host instead of many.
[[nodiscard]] Result<std::string> replay_by_graph(const analysis::CommunicationGraph& graph,
                                                  std::string_view text);

/// Blocks of so many threads, for every kernel that asks how many it has and whose launch says it
/// by a number.
[[nodiscard]] Result<std::string> with_block_size(const analysis::CommunicationGraph& graph,
                                                  std::string_view text,
                                                  int threads);

}  // namespace cuco::expert
