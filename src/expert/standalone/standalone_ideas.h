// SPDX-License-Identifier: Apache-2.0
/// \file
/// Versions with own collectives as ideas: one for each backend, algorithm and size that the
/// machine can do and the program gives a use to, the likeliest first.
#pragma once

#include <functional>

#include "expert/expert.h"
#include "expert/standalone/collectives_header.h"

namespace cuco::expert {

struct StandaloneIdeas {
  std::optional<FastPathIdeas> fast_path;  ///< Nothing if there is no such version at all.
  std::vector<Discarded> discarded;
};

/// For a split workload, or for a program with main(): the graph says which it is.
[[nodiscard]] StandaloneIdeas make_standalone_ideas(const analysis::CommunicationGraph& graph,
                                                    std::string_view text,
                                                    const design::TopologyFacts& topology,
                                                    design::NcclVersion nccl);

/// Own collectives in a CUDA graph that is recorded once: a run is one launch by the host. `read`
/// analyses the text on the way; `before` is the version without the graph.
[[nodiscard]] Result<Idea> replayed_by_graph(
    const analysis::CommunicationGraph& graph,
    std::string_view text,
    const Idea& before,
    const std::function<Result<analysis::CommunicationGraph>(const std::string&)>& read);

}  // namespace cuco::expert
