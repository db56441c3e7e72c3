// SPDX-License-Identifier: Apache-2.0
/// \file
/// How generated headers get into a program: as includes, or as text for who compiles one file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program/tokens.h"

namespace cuco::expert {

/// Behind the line that includes NCCL, or else behind the first that includes anything.
[[nodiscard]] std::size_t place_of_include(std::string_view text,
                                           const std::vector<program::Identifier>& names);

/// `#include "header"` and the end of the line.
[[nodiscard]] std::string include_line(std::string_view header);

/// The collectives' header with the device header in the place of its include.
[[nodiscard]] std::string headers_as_text(std::string_view collectives);

void replace_once(std::string& text, std::string_view what, std::string_view by);

}  // namespace cuco::expert
