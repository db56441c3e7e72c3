// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lists of words in one text, quoted as in a shell, but nothing is ever expanded.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cuco {

/// "claude -p 'two words'" gives three words. Single quotes keep everything; in double quotes and
/// outside of quotes a backslash keeps the next character. An open quote is InvalidInput.
[[nodiscard]] Result<std::vector<std::string>> split_words(std::string_view text);

/// The text that split_words() takes apart into these words.
[[nodiscard]] std::string join_words(std::span<const std::string> words);

}  // namespace cuco
