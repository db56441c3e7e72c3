// SPDX-License-Identifier: Apache-2.0
/// \file
/// Overlap by hazards as ideas: over NCCL's calls by the host and over the program's own
/// collectives, each launched one by one and recorded in a CUDA graph.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "expert/expert.h"
#include "expert/standalone/standalone_ideas.h"

namespace cuco::expert::lanes {

struct LaneIdeas {
  std::vector<Idea> ideas;  ///< The likeliest first.
  std::vector<Discarded> discarded;
};

/// `read` analyses the text on the way. Programs that do not communicate get none.
[[nodiscard]] LaneIdeas make_lane_ideas(
    const analysis::CommunicationGraph& graph,
    std::string_view text,
    const design::TopologyFacts& topology,
    design::NcclVersion nccl,
    const std::function<Result<analysis::CommunicationGraph>(const std::string&)>& read);

}  // namespace cuco::expert::lanes
