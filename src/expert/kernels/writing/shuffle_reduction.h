// SPDX-License-Identifier: Apache-2.0
/// \file
/// A block's reduction with shuffles, in the place of a tree in shared memory: one barrier instead
/// of one per level, and room for any number of warps.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "expert/kernels/reading/tree_reduction.h"
#include "expert/kernels/writing/fresh_names.h"
#include "expert/kernels/writing/rendering.h"

namespace cuco::expert::kernels {

/// Names of the functions that reduce, by operation.
using ReducerNames = std::map<std::string, std::string>;

/// "block_sum" for "+".
[[nodiscard]] std::string usual_reducer_name(const std::string& operation);

/// The function itself.
[[nodiscard]] std::string reducer(const std::string& operation, const std::string& name);

/// The call that replaces a tree, and its result in the places where that is read.
[[nodiscard]] std::vector<Replacement> reduce_by_shuffles(const KernelBody& kernel,
                                                          const TreeReduction& tree,
                                                          std::string_view text,
                                                          const std::string& function,
                                                          FreshNames& fresh);

}  // namespace cuco::expert::kernels
