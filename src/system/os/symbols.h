// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names that the system's libraries define.
#pragma once

#include <string>

namespace cuco::system {

/// Whether the C library, or whatever else this process is made of, has a symbol of this name.
[[nodiscard]] bool is_library_symbol(const std::string& name);

}  // namespace cuco::system
