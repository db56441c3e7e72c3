// SPDX-License-Identifier: Apache-2.0
// toml++ lives in this file.
#define TOML_IMPLEMENTATION
#include "base/toml.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco {
namespace {

/// Length of the string or comment that starts at the front; 0 if none does. What is not closed
/// reaches to the end: the parser will say so.
std::size_t quoted_length(std::string_view text) {
  const char quote = text.front();
  if (quote == '#') return std::min(text.find('\n'), text.size());
  if (quote != '"' && quote != '\'') return 0;
  const std::string triple(3, quote);
  const bool multiline = text.starts_with(triple);
  const std::string_view closing = std::string_view(triple).substr(0, multiline ? 3 : 1);
  for (std::size_t i = closing.size(); i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (!multiline && text[i] == '\n') {
      return i;
    } else if (text.substr(i).starts_with(closing)) {
      return i + closing.size();
    }
  }
  return text.size();
}

/// toml++ 3.3 has undefined behaviour for some characters beyond ASCII where a value could start.
/// They are never right outside of strings and comments, so they do not get that far.
std::optional<unsigned> line_of_unquoted_character(std::string_view text) {
  unsigned line = 1;
  while (!text.empty()) {
    if (static_cast<unsigned char>(text.front()) >= 0x80) return line;
    const std::size_t length = std::max<std::size_t>(1, quoted_length(text));
    line += static_cast<unsigned>(std::ranges::count(text.substr(0, length), '\n'));
    text.remove_prefix(length);
  }
  return std::nullopt;
}

}  // namespace

void toml_assertion_failed() {
  throw std::runtime_error("malformed document");  // caught below
}

Result<toml::table> parse_toml(std::string_view text, std::string_view name) {
  const auto complain = [name](unsigned line, std::string_view what) {
    return Error(ErrorKind::InvalidInput, fmt::format("{}:{}: {}", name, line, what));
  };
  if (const auto line = line_of_bad_byte(text)) return complain(*line, "not plain UTF-8 text");
  if (const auto line = line_of_unquoted_character(text)) {
    return complain(*line, "non-ASCII characters need quotes");
  }
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return complain(error.source().begin.line, error.description());
  } catch (const std::exception& error) {
    return complain(1, error.what());
  }
}

}  // namespace cuco
