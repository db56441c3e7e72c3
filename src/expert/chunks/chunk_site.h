// SPDX-License-Identifier: Apache-2.0
/// \file
/// An all-gather that the kernels can send, chunk by chunk, that make the data; and why another one
/// is not.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"
#include "analysis/trace/observed_map.h"
#include "base/result.h"

namespace cuco::expert::chunks {

/// A kernel that makes all of what is sent.
struct ChunkProducer {
  const analysis::Kernel* kernel = nullptr;
  std::string output;  ///< The parameter that it writes through.
  std::string tiles;   ///< What its blocks write: see tile_text.h.
};

/// Points into the graph.
struct ChunkSite {
  std::vector<ChunkProducer> producers;  ///< One of them in each round.
  std::vector<int> receivers;            ///< Buffers that peers write.
  std::set<int> launches;                ///< Operations.
  std::size_t plan_at = 0;               ///< Where the plan goes: before the first launch.
  std::string calls;                     ///< The exchange, for the plan's closure.
};

[[nodiscard]] Result<ChunkSite> find_chunk_site(const analysis::CommunicationGraph& graph,
                                                std::span<const analysis::ObservedMap> maps,
                                                std::string_view text,
                                                const analysis::Site& site);

}  // namespace cuco::expert::chunks
