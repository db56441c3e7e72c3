// SPDX-License-Identifier: Apache-2.0
/// \file
/// A place in memory as an expression, and the types of what lies there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/syntax.h"

namespace cuco::expert::kernels {

/// p[s], *(p + s) or *p, taken apart.
struct Place {
  const analysis::Expression* pointer = nullptr;
  const analysis::Expression* subscript = nullptr;  ///< Of *p there is none.
};

[[nodiscard]] std::optional<Place> read_place(const analysis::Expression& expression);

/// The variable that a place, an address or a pointer leads from; -1 if there is none.
[[nodiscard]] int root_of(const analysis::Expression& expression);

/// What a pointer or an array of this type holds.
[[nodiscard]] std::string element_type(std::string type);

/// "T" of "const T* __restrict__ x"; empty if the declaration says more.
[[nodiscard]] std::string written_type(std::string_view declaration, std::string_view name);

/// Of the element types that vectors are made of; 0 for all others.
[[nodiscard]] int bytes_of_type(std::string_view canonical);

}  // namespace cuco::expert::kernels
