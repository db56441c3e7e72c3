// SPDX-License-Identifier: Apache-2.0
/// \file
/// What was observed, for programs: beside a graph's own JSON.
#pragma once

#include <vector>

#include "analysis/trace/observed_map.h"
#include "analysis/trace/observed_overlap.h"
#include "base/json.h"

namespace cuco::analysis {

[[nodiscard]] Json to_json(const ObservedMap& map);
[[nodiscard]] Json to_json(const ObservedOverlap& overlap);

/// The graph for Graphviz; launches and sites say what was seen of them.
[[nodiscard]] std::string to_dot(const CommunicationGraph& graph,
                                 const std::vector<ObservedMap>& maps,
                                 const std::vector<ObservedOverlap>& overlaps);

}  // namespace cuco::analysis
