// SPDX-License-Identifier: Apache-2.0
/// \file
/// Unified diffs, for people and prompts.
#pragma once

#include <string>
#include <string_view>

#include "program/source.h"

namespace cuco::program {

/// A unified diff with three lines of context; empty when the texts are equal.
[[nodiscard]] std::string unified_diff(std::string_view path,
                                       std::string_view before,
                                       std::string_view after);

/// The same for all files of two sources.
[[nodiscard]] std::string unified_diff(const Source& before, const Source& after);

}  // namespace cuco::program
