// SPDX-License-Identifier: Apache-2.0
/// \file
/// A block's reduction through a tree in shared memory.
#pragma once

#include <string>
#include <vector>

#include "expert/kernels/reading/kernel_body.h"

namespace cuco::expert::kernels {

struct TreeReduction {
  int array = -1;                               ///< In shared memory.
  const analysis::Expression* value = nullptr;  ///< What each thread puts in.
  std::string operation;                        ///< "+", "fmaxf", …
  analysis::Span replaced;                      ///< From the first store to the end of the loop.
  analysis::Span block;                         ///< That it stands in.
  std::vector<analysis::Span> results;          ///< Reads of the result.
  /// The array is written again, by another tree or in the next round of a loop, and no barrier
  /// behind this one says so.
  bool reused = false;
};

/// All trees of the kernel whose arrays are used for nothing else.
[[nodiscard]] std::vector<TreeReduction> find_tree_reductions(const KernelBody& kernel);

}  // namespace cuco::expert::kernels
