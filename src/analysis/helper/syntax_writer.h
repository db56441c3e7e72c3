// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes a parsed file as the tree of analysis/syntax.h, in JSON.
#pragma once

#include <string_view>

#include <clang-c/Index.h>
#include <nlohmann/json_fwd.hpp>

namespace cuco::analysis {

/// `text` is the main file's.
[[nodiscard]] nlohmann::json write_syntax(CXTranslationUnit unit, std::string_view text);

}  // namespace cuco::analysis
