// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a device function does that its caller's loop must know.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/syntax.h"

namespace cuco::expert::kernels {

struct ParameterUse {
  bool read = false;
  bool written = false;
};

/// How the function uses the one element that a pointer or reference parameter leads to; nothing if
/// it does more with it, such as reading the next one.
[[nodiscard]] std::optional<ParameterUse> use_of_parameter(const analysis::Syntax& syntax,
                                                           const analysis::Function& function,
                                                           std::size_t parameter);

/// Why calling it once per element, in another thread than before, might differ: barriers,
/// shuffles, atomics, inline assembly, stores that are not to its own variables. Nothing if it does
/// not.
[[nodiscard]] std::optional<std::string> side_effect(const analysis::Syntax& syntax,
                                                     const analysis::Function& function);

/// The same for a function without a body here, by its name.
[[nodiscard]] bool talks_to_other_threads(std::string_view name);

/// "(float)half": the call of an operator that reads its object and makes another value of it.
[[nodiscard]] bool is_conversion(const analysis::Expression& call);

}  // namespace cuco::expert::kernels
