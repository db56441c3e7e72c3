// SPDX-License-Identifier: Apache-2.0
/// \file
/// Walks a parsed file and writes down the facts of analysis/facts.h as JSON.
#pragma once

#include <string_view>

#include <clang-c/Index.h>
#include <nlohmann/json_fwd.hpp>

namespace cuco::analysis {

/// `text` is the main file's.
[[nodiscard]] nlohmann::json collect(CXTranslationUnit unit, std::string_view text);

}  // namespace cuco::analysis
