// SPDX-License-Identifier: Apache-2.0
/// \file
/// Questions about one function of a syntax tree. Closures inside it are functions of their own.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/syntax.h"

namespace cuco::analysis {

struct CallSite {
  const Expression* call = nullptr;  ///< A call, a launch or a construction.
  Span statement;
  Span outermost;  ///< The statement of the function's own block around it.
};

/// In the order of the text. They point into the function.
[[nodiscard]] std::vector<CallSite> calls_in(const Function& function);
[[nodiscard]] std::vector<Span> returns_in(const Function& function);

/// Declared anywhere in it, without its parameters.
[[nodiscard]] std::vector<int> variables_in(const Function& function);

/// Nothing if there is none with a body.
[[nodiscard]] const Function* find_function(const Syntax& syntax, std::string_view name);

/// The function of the program that does the work of `entry`, which only hands its arguments on; or
/// `entry` itself.
[[nodiscard]] const Function* function_behind(const Syntax& syntax, std::string_view entry);

}  // namespace cuco::analysis
