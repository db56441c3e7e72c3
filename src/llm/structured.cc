// SPDX-License-Identifier: Apache-2.0
#include "llm/structured.h"

#include <cctype>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace cuco::llm {
namespace {

constexpr int kMostTries = 64;
constexpr int kDeepest = 200;

/// The end of the object that begins at `at`, strings respected; nothing if it does not end.
std::optional<std::size_t> object_end(std::string_view text, std::size_t at) {
  int depth = 0;
  bool in_string = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if (depth > kDeepest) return std::nullopt;
    if (c == '}' || c == ']') --depth;
    if (depth == 0) return at + 1;
  }
  return std::nullopt;
}

/// Without commas before a closing bracket.
std::string without_trailing_commas(std::string_view text) {
  std::string result;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string && c == '\\' && at + 1 < text.size()) {
      result += c;
      result += text[++at];
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (!in_string && (c == '}' || c == ']')) {
      auto last = result.find_last_not_of(" \t\r\n");
      if (last != std::string::npos && result[last] == ',') result.erase(last, 1);
    }
    result += c;
  }
  return result;
}

std::optional<Json> object_in(std::string_view text) {
  auto json = Json::parse(without_trailing_commas(text), nullptr, /*allow_exceptions=*/false,
                          /*ignore_comments=*/true);
  if (json.is_object()) return json;
  return std::nullopt;
}

}  // namespace

Result<Json> read_structured(std::string_view answer) {
  int tries = 0;
  for (auto at = answer.find('{'); at != std::string_view::npos && tries < kMostTries;
       at = answer.find('{', at + 1), ++tries) {
    const auto end = object_end(answer, at);
    if (!end) continue;
    if (auto json = object_in(answer.substr(at, *end - at))) return *std::move(json);
  }
  return Error{ErrorKind::Protocol, "the answer has no JSON object"};
}

}  // namespace cuco::llm
