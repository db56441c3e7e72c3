// SPDX-License-Identifier: Apache-2.0
#include "base/words.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace cuco {
namespace {

bool is_plain(char c) {
  constexpr std::string_view kPlain = "_-+=:,./@%";
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         kPlain.find(c) != std::string_view::npos;
}

}  // namespace

Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;  // an empty pair of quotes is a word, too
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool escapes = c == '\\' && quote != '\'';
    if (quote == 0 && std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (word) words.push_back(*std::move(word));
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    if (escapes && at + 1 == text.size()) {
      return Error{ErrorKind::InvalidInput, "a backslash ends the text"};
    }
    if (escapes) {
      *word += text[++at];
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else {
      *word += c;
    }
  }
  if (quote != 0) {
    return Error{ErrorKind::InvalidInput, std::string("no closing ") + quote};
  }
  if (word) words.push_back(*std::move(word));
  return words;
}

std::string join_words(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && std::ranges::all_of(word, is_plain)) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word)
      text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

}  // namespace cuco
