// SPDX-License-Identifier: Apache-2.0
/// \file
/// Conclusions from a graph's list of operations: what is set-up, what is repeated and what is
/// teardown; the sites of communication with who makes and who needs what they move; and where code
/// can be put.
#pragma once

#include "analysis/communication_graph.h"

namespace cuco::analysis {

void find_phases(CommunicationGraph& graph);
void find_sites(CommunicationGraph& graph);
void find_anchors(CommunicationGraph& graph);

/// Never both in one round: the two sides of a condition.
[[nodiscard]] bool exclude_each_other(const Operation& a, const Operation& b);

}  // namespace cuco::analysis
