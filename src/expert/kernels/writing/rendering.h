// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pieces of a program's text with some places replaced. Unlike Edits, the same place may be
/// rendered several times: a loop's body as it was and as it becomes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/syntax.h"

namespace cuco::expert::kernels {

struct Replacement {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;
  bool operator==(const Replacement&) const = default;
};

/// The text of [begin, end); replacements outside of it are ignored, of nested ones the outer one
/// counts.
[[nodiscard]] std::string render(std::string_view text,
                                 std::size_t begin,
                                 std::size_t end,
                                 std::vector<Replacement> replacements);

/// Each line moved so that the leftmost begins at `column`; without blank lines at both ends.
[[nodiscard]] std::string at_column(std::string_view text, std::size_t column);

/// The column at which the line of `position` begins.
[[nodiscard]] std::size_t indentation(std::string_view text, std::size_t position);

/// In parentheses unless it is a name, a number or a member.
[[nodiscard]] std::string as_factor(const std::string& expression);

/// In parentheses unless it is a product of such, or one divided.
[[nodiscard]] std::string as_product(const std::string& expression);

/// In parentheses unless it is a sum of those.
[[nodiscard]] std::string as_term(const std::string& expression);

}  // namespace cuco::expert::kernels
