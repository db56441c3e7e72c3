// SPDX-License-Identifier: Apache-2.0
/// \file
/// A kernel's symbol as its source spells it.
#pragma once

#include <string>

namespace cuco::analysis {

struct KernelSymbol {
  std::string name;       ///< Without namespaces, template arguments and parameters.
  std::string arguments;  ///< Of its template: "<float>".
};

[[nodiscard]] KernelSymbol read_symbol(const std::string& symbol);

}  // namespace cuco::analysis
