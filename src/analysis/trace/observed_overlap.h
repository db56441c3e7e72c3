// SPDX-License-Identifier: Apache-2.0
/// \file
/// How much of a site's communication could hide, at most, behind the kernels that make what it
/// sends and those that need what it brings: from the (predicted) times at which each chunk was
/// final and was first needed.
#pragma once

#include <string>
#include <vector>

#include "analysis/communication_graph.h"
#include "analysis/trace/observed_map.h"

namespace cuco::analysis {

/// Of one site, the mean of all times that it was seen; picoseconds of virtual time become us.
struct ObservedOverlap {
  std::size_t seen = 0;  ///< 0: it did not communicate in this run.
  double communication_us = 0;
  double producers_us = 0;   ///< From the first store of what is sent to the end of its makers.
  double half_final_us = 0;  ///< Of that, when half of it was final.
  double behind_producers_us = 0;
  double behind_consumers_us = 0;
  double gain_us = 0;  ///< At most: both together, but not more than the communication.
};

/// Sites of the graph, in its order, as the run showed them.
[[nodiscard]] std::vector<ObservedOverlap> observe_overlaps(const CommunicationGraph& graph,
                                                            const vcluster::BlockRecord& record);

/// "half of it is final after 3.1 of 8.0 us; …".
[[nodiscard]] std::string to_text(const ObservedOverlap& overlap);

}  // namespace cuco::analysis
