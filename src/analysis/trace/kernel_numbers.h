// SPDX-License-Identifier: Apache-2.0
/// \file
/// What code inside a kernel can say of the shape: the kernel's own whole-number parameters and its
/// launch geometry, with the values that a launch had.
#pragma once

#include "analysis/communication_graph.h"
#include "analysis/trace/shape_formula.h"
#include "vcluster/record/block_record.h"

namespace cuco::analysis {

/// Names are expressions of CUDA: "n", "gridDim.x". `kernel`: null where it is not in the graph.
[[nodiscard]] ShapeParameters kernel_numbers(const Kernel* kernel,
                                             const vcluster::TracedStep& launch);

}  // namespace cuco::analysis
