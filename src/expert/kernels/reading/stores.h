// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where a piece of a kernel stores to.
#pragma once

#include <vector>

#include "base/result.h"
#include "expert/kernels/reading/kernel_body.h"

namespace cuco::expert::kernels {

/// The pointers and arrays that the statement stores through, at any depth. The error names what
/// may store anywhere.
[[nodiscard]] Result<std::vector<const analysis::Expression*>> find_stores(
    const KernelBody& kernel, const analysis::Statement& statement);

/// Whether the statement only makes values: it stores nothing, waits for nobody and goes nowhere.
[[nodiscard]] bool only_computes(const KernelBody& kernel, const analysis::Statement& statement);

/// Whether it reads memory.
[[nodiscard]] bool loads(const analysis::Statement& statement);

}  // namespace cuco::expert::kernels
