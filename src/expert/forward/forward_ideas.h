// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stores straight into the receivers' memory as ideas, by producers and by exchanges: one after
/// the other and on lanes, launched one by one and in a graph that is recorded once.
#pragma once

#include <string_view>

#include "expert/expert.h"

namespace cuco::expert::forward {

/// The likeliest first. Where there is no such version, why.
[[nodiscard]] Ideas make_forward_ideas(const analysis::CommunicationGraph& graph,
                                       std::string_view text,
                                       const design::TopologyFacts& topology,
                                       design::NcclVersion nccl);

}  // namespace cuco::expert::forward
