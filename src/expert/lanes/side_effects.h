// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether an expression may be evaluated twice.
#pragma once

#include "analysis/syntax.h"

namespace cuco::expert::lanes {

/// Writes nothing but variables of its own and calls nothing that might.
[[nodiscard]] bool is_repeatable(const analysis::Syntax& syntax,
                                 const analysis::Expression& expression);

}  // namespace cuco::expert::lanes
