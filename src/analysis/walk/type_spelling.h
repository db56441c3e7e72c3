// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the spelling of a name or a type says.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace cuco::analysis {

[[nodiscard]] bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names);

[[nodiscard]] bool is_pointer(std::string_view type);
[[nodiscard]] bool is_array(std::string_view type);
/// Numbers hold no pointers; everything else may.
[[nodiscard]] bool is_number(std::string_view type);
[[nodiscard]] bool is_smart_pointer(std::string_view type);

/// "const Base *": the class alone.
[[nodiscard]] std::string class_of(std::string_view type);

}  // namespace cuco::analysis
