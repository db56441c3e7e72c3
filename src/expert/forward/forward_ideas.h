// SPDX-License-Identifier: Apache-2.0
/// \file
/// Producers that send what they store, as ideas: alone, and in a graph that is recorded once.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "expert/expert.h"

namespace cuco::expert::forward {

/// `read` analyses a text on the way. Where there is no such version, why.
[[nodiscard]] Ideas make_forward_ideas(
    const analysis::CommunicationGraph& graph,
    std::string_view text,
    const design::TopologyFacts& topology,
    design::NcclVersion nccl,
    const std::function<Result<analysis::CommunicationGraph>(const std::string&)>& read);

}  // namespace cuco::expert::forward
