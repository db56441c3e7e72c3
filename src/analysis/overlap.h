// SPDX-License-Identifier: Apache-2.0
/// \file
/// What communication could hide behind, and how much that could gain, from the times of a run.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"

namespace cuco::analysis {

/// Microseconds of one piece of work, by the name of its kernel or call; the mean of all.
using Times = std::map<std::string, double, std::less<>>;

/// From the report of `cuco run --profile-json` (vcluster/watch/run_report.h).
[[nodiscard]] Result<Times> read_times(std::string_view report);

/// Of one site, in the graph's order.
struct Overlap {
  double communication_us = 0;
  double beside_us = 0;  ///< Work that is independent, or that could go chunk by chunk.
  double gain_us = 0;    ///< At most: the smaller of the two.
};

[[nodiscard]] std::vector<Overlap> find_overlaps(const CommunicationGraph& graph,
                                                 const Times& times);

/// The graph's JSON, each site with its overlap, if there are any.
[[nodiscard]] std::string to_json(const CommunicationGraph& graph,
                                  const std::vector<Overlap>& overlaps);

}  // namespace cuco::analysis
