// SPDX-License-Identifier: Apache-2.0
/// \file
/// All-gathers in chunks from inside the kernels that make the data, as ideas: by backend, size of
/// a chunk and who stores it; the likeliest first.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "analysis/trace/observed_map.h"
#include "expert/expert.h"

namespace cuco::expert::chunks {

/// Whether runs of the program could show anything that these designs need.
[[nodiscard]] bool has_gather_to_chunk(const analysis::CommunicationGraph& graph);

/// `maps`: what runs of the program have shown. `read` analyses a text on the way.
[[nodiscard]] Ideas make_chunk_ideas(
    const analysis::CommunicationGraph& graph,
    std::span<const analysis::ObservedMap> maps,
    std::string_view text,
    const design::TopologyFacts& topology,
    design::NcclVersion nccl,
    const std::function<Result<analysis::CommunicationGraph>(const std::string&)>& read);

}  // namespace cuco::expert::chunks
