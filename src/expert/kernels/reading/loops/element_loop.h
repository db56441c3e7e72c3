// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops over elements whose rounds are dealt out to threads: strided for and while loops, and "one
/// element per thread" behind a bounds check, which is such a loop with one round.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expert/kernels/reading/thread_index.h"

namespace cuco::expert::kernels {

enum class LoopForm { For, While, Guarded };

struct ElementLoop {
  LoopForm form = LoopForm::For;
  const analysis::Statement* statement = nullptr;  ///< The loop, or the if of the bounds check.
  analysis::Span replaced;                         ///< All text that belongs to it.
  int index = -1;                                  ///< The variable that counts elements.
  bool declares_index = false;                     ///< In its header.
  const analysis::Expression* start = nullptr;
  const analysis::Expression* limit = nullptr;
  Polynomial threads;           ///< How many share the loop.
  std::string step;             ///< The same, as written if it is.
  std::string other_condition;  ///< What else the bounds check asks; empty: nothing.
  std::vector<const analysis::Statement*> body;
  analysis::Span body_text;  ///< The statements of the body, with the comments between them.
};

/// Reads a loop or, in `block` at `position`, a bounds check with what it guards. The error says
/// in one sentence why the statement is no such loop.
[[nodiscard]] Result<ElementLoop> read_element_loop(const KernelBody& kernel,
                                                    const analysis::Statement& block,
                                                    std::size_t position,
                                                    std::string_view text);

}  // namespace cuco::expert::kernels
