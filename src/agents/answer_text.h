// SPDX-License-Identifier: Apache-2.0
/// \file
/// Answers as models, people and programs really send them, made plain.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cuco::agents {

/// The answer without a byte order mark, with '\n' at the ends of its lines, and without the
/// thoughts (<think> … </think>) that some models write in front of it. An Error where it ends
/// within its thoughts: it was cut off.
[[nodiscard]] Result<std::string> plain_answer(std::string_view text);

/// The first so many bytes, with "…" for the rest; no character is cut in two.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

/// The first line (from 1) with a control character that turns the direction of text round: people
/// would read another program than the compiler.
[[nodiscard]] std::optional<int> line_that_reads_otherwise(std::string_view program);

}  // namespace cuco::agents
