// SPDX-License-Identifier: Apache-2.0
/// \file
/// A subscript as "rest + i": what is left of it without the index.
#pragma once

#include <string>

#include "base/result.h"
#include "expert/kernels/reading/kernel_body.h"

namespace cuco::expert::kernels {

/// Whether the expression changes with `index`, directly or through variables made of it.
[[nodiscard]] bool depends_on(const KernelBody& kernel,
                              const analysis::Expression& expression,
                              int index);

/// The text of `subscript` minus the index, which it must hold once, added. Variables that are made
/// of the index are replaced by what they are made of.
[[nodiscard]] Result<std::string> without_index(const KernelBody& kernel,
                                                const analysis::Expression& subscript,
                                                int index);

}  // namespace cuco::expert::kernels
