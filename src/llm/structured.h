// SPDX-License-Identifier: Apache-2.0
/// \file
/// JSON in a model's answer, also where the service could not enforce it.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace cuco::llm {

/// The object that an answer is or contains: alone, in a fenced block, or between sentences.
/// Trailing commas and comments are forgiven. Protocol if there is none.
[[nodiscard]] Result<Json> read_structured(std::string_view answer);

}  // namespace cuco::llm
