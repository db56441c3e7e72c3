// SPDX-License-Identifier: Apache-2.0
/// \file
/// How long a host-driven collective takes on idle links: latency + bytes / bandwidth for ring,
/// tree and in-switch (NVLS) algorithms, and the fastest of those that apply.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "fabric/topology.h"

namespace cuco::fabric {

/// The traffic pattern of a collective, which is all that its time depends on.
enum class Pattern {
  AllReduce,
  Reduce,
  Broadcast,
  AllGather,
  ReduceScatter,
  AllToAll,
  Gather,
  Scatter,
};

/// A predicted duration and the algorithm that gave it.
struct CollectiveCost {
  Time duration = 0;
  std::string_view algorithm;  ///< "ring", "tree", "nvls", "direct" or "local".
};

/// Predicts a collective among `gpus`. `bytes` is the size of one rank's contribution: the vector
/// for all-reduce, reduce and broadcast, one rank's block for all-gather and reduce-scatter, one
/// block per pair for all-to-all, gather and scatter.
[[nodiscard]] CollectiveCost collective_cost(const Topology& topology,
                                             Pattern pattern,
                                             std::span<const int> gpus,
                                             std::uint64_t bytes);

}  // namespace cuco::fabric
