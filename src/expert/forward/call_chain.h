// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the program gets to its operations, and the block of statements that leads to several.
#pragma once

#include <string>
#include <vector>

#include "analysis/communication_graph.h"
#include "base/result.h"

namespace cuco::expert::forward {

/// The innermost block of one function whose statements lead to all of some operations.
struct CommonBlock {
  const analysis::Function* function = nullptr;
  const analysis::Statement* block = nullptr;
  std::vector<std::size_t> statements;  ///< Of each operation: the number of its statement.
};

/// Points into the graph. The error says why there is none.
[[nodiscard]] Result<CommonBlock> common_block(const analysis::CommunicationGraph& graph,
                                               const std::vector<int>& operations);

/// Whether the operation is in all the loops that are around the other one.
[[nodiscard]] bool is_in_loops_of(const analysis::Operation& operation,
                                  const analysis::Operation& other);

}  // namespace cuco::expert::forward
