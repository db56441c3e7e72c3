// SPDX-License-Identifier: Apache-2.0
/// \file
/// What protocols with content blocks share: a prompt that is cut where other prompts of the run
/// begin to differ, so that the service can cache the first part.
#pragma once

#include <string_view>
#include <utility>

#include "base/json.h"
#include "llm/provider.h"

namespace cuco::llm {

/// The shared part (may be empty) and the rest. Never cuts a character in two.
[[nodiscard]] std::pair<std::string_view, std::string_view> cut_prompt(const Request& request);

/// The tokens for hidden thinking that an effort stands for, at most half of the answer's.
[[nodiscard]] int thinking_tokens(const Request& request);

/// The schema's text as JSON; an empty object if it is none.
[[nodiscard]] Json schema_json(const AnswerSchema& schema);

}  // namespace cuco::llm
