// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which threads share a loop: "start at threadIdx.x, step by blockDim.x" gives every round number
/// to one thread of the block, and the same holds for any mixed-radix number of thread and block
/// indices. Only then may the rounds be dealt out anew.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "expert/kernels/reading/kernel_body.h"

namespace cuco::expert::kernels {

/// A sum of products of names; constants are factors.
using Product = std::vector<std::string>;  ///< Sorted names.
using Polynomial = std::map<Product, long long>;

/// Variables that keep their first value are replaced by it; what is no polynomial is a name.
[[nodiscard]] Polynomial polynomial(const KernelBody& kernel,
                                    const analysis::Expression& expression);

/// The number of threads that `start` counts from 0 without a gap, as a polynomial of blockDim and
/// gridDim; nothing if it is no such number.
[[nodiscard]] std::optional<Polynomial> threads_counted_by(const Polynomial& start);

/// "gridDim.x * blockDim.x".
[[nodiscard]] std::string to_text(const Polynomial& polynomial);

}  // namespace cuco::expert::kernels
