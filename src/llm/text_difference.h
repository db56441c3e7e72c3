// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where two texts begin to differ, for people.
#pragma once

#include <string>
#include <string_view>

namespace cuco::llm {

/// The first line that differs, with two lines before it, and how both go on; lines are cut to what
/// fits a screen around the first byte that differs. Empty if the texts are equal.
[[nodiscard]] std::string first_difference(std::string_view recorded, std::string_view now);

}  // namespace cuco::llm
