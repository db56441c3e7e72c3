// SPDX-License-Identifier: Apache-2.0
/// \file
/// The calls of an exchange as text that can run twice: once to plan it, once to do it.
#pragma once

#include <string>
#include <string_view>

#include "analysis/communication_graph.h"
#include "base/result.h"

namespace cuco::expert::forward {

/// Statements of one block: the plan goes before `first`, the exchange is [begin, end).
struct PlannedStatements {
  const analysis::Statement* block = nullptr;
  std::size_t first = 0;
  std::size_t begin = 0, end = 0;
};

/// The statements of the exchange, with the declarations between the plan and it that they need.
/// They fit into a closure without result. The error says why they cannot run twice, or what they
/// need is not known before.
[[nodiscard]] Result<std::string> plan_text(const analysis::CommunicationGraph& graph,
                                            std::string_view text,
                                            const PlannedStatements& planned);

}  // namespace cuco::expert::forward
