// SPDX-License-Identifier: Apache-2.0
/// \file
/// How long NCCL's collectives, sends and receives take on idle links, modelled as NCCL's tuner
/// does it: a latency and a bandwidth for each algorithm and protocol, and the fastest of those
/// that apply.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fabric/topology.h"
#include "hardware/nccl_costs.h"

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

/// A predicted duration and what gave it.
struct CollectiveCost {
  Time duration = 0;           ///< From the start of the kernels to the end.
  Time wire = 0;               ///< For how long of it the ports are busy.
  std::string_view algorithm;  ///< "ring", "tree", "nvls", "nvls-tree", "symmetric"…
  std::string_view protocol;   ///< "LL", "LL128" or "Simple".
  int channels = 0;            ///< SMs that each GPU's kernel has to itself.
};

/// A machine as collectives see it.
struct CollectiveMachine {
  const Topology& topology;
  const hardware::NcclCosts& costs;
};

/// All ways to do a collective among `gpus`. `bytes` is the size of one rank's contribution: the
/// vector for all-reduce, reduce and broadcast, one rank's block for all-gather and reduce-scatter,
/// one block per pair for all-to-all, gather and scatter. `symmetric`: all memory is in windows.
[[nodiscard]] std::vector<CollectiveCost> collective_options(const CollectiveMachine& machine,
                                                             Pattern pattern,
                                                             std::span<const int> gpus,
                                                             std::uint64_t bytes,
                                                             bool symmetric = false);
/// The fastest of them.
[[nodiscard]] CollectiveCost collective_cost(const CollectiveMachine& machine,
                                             Pattern pattern,
                                             std::span<const int> gpus,
                                             std::uint64_t bytes,
                                             bool symmetric = false);

/// One message between two ranks.
struct SendCost {
  Time setup = 0;                        ///< Before the first byte moves.
  double gigabytes_per_second = 0;       ///< Its channels do not move more.
  double port_gigabytes_per_second = 0;  ///< All sends of a port together do not move more.
  int channels = 0;
};
/// Of a communicator of `ranks`; `near`: in one load/store domain. `position` is how many messages
/// of the same group come before it.
[[nodiscard]] SendCost send_cost(const CollectiveMachine& machine,
                                 int ranks,
                                 bool near,
                                 std::uint64_t bytes,
                                 std::size_t position = 0);

/// What a group of calls costs the host thread that makes them: it launches on so many GPUs.
[[nodiscard]] Time host_time(const hardware::NcclCosts& costs, std::size_t gpus);
/// Between a collective's kernel and what came before it in its stream.
[[nodiscard]] Time queue_gap(const hardware::NcclCosts& costs, bool in_graph);

}  // namespace cuco::fabric
