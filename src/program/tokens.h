// SPDX-License-Identifier: Apache-2.0
/// \file
/// CUDA C++ text as tokens: enough to compare code, not to understand it (the analysis does that).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program/source.h"

namespace cuco::program {

/// The tokens without comments and layout. A preprocessor line begins with "#" and ends with "\n".
/// Any text has tokens; an unterminated literal or comment ends with the text.
[[nodiscard]] std::vector<std::string> tokens(std::string_view text);

struct Identifier {
  std::string_view name;
  std::size_t begin = 0;
};
/// With their places; those of preprocessor lines too, none of comments and literals.
[[nodiscard]] std::vector<Identifier> identifiers(std::string_view text);

/// Identity of the code: the same for texts that differ in comments and layout only.
[[nodiscard]] std::string normalised_hash(const Source& source);

}  // namespace cuco::program
