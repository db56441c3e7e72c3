// SPDX-License-Identifier: Apache-2.0
/// \file
/// The scalars into which a loop accumulates: all that may go from one of its rounds to the next.
#pragma once

#include <set>

#include "base/result.h"
#include "expert/kernels/reading/loops/element_loop.h"

namespace cuco::expert::kernels {

/// The error names a scalar that goes from round to round in another way.
[[nodiscard]] Result<std::set<int>> find_accumulators(const KernelBody& kernel,
                                                      const ElementLoop& loop);

}  // namespace cuco::expert::kernels
