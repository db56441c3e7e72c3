// SPDX-License-Identifier: Apache-2.0
/// \file
/// A launch as text: its grid and block, and where its arguments end.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"

namespace cuco::expert::kernels {

struct LaunchText {
  analysis::Span span;         ///< The kernel's name first.
  analysis::Span grid, block;  ///< Without the spaces around them.
  std::string grid_text, block_text;
  std::vector<std::string> arguments;
  std::size_t arguments_end = 0;     ///< Of the closing parenthesis.
  std::optional<long long> threads;  ///< The block, if it is one known number.
  bool flat = false;                 ///< Grid and block are numbers, not dim3.
  bool repeatable = false;           ///< The grid may be evaluated twice.
  std::size_t statement_end = 0;     ///< Behind its semicolon; 0: it is a part of a statement.
};

/// Nothing for a launch that a macro writes.
[[nodiscard]] std::optional<LaunchText> read_launch(const analysis::CommunicationGraph& graph,
                                                    const analysis::Launch& launch,
                                                    std::string_view text);

}  // namespace cuco::expert::kernels
