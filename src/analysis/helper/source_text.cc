// SPDX-License-Identifier: Apache-2.0
#include "analysis/helper/source_text.h"

#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

namespace cuco::analysis {
using Json = nlohmann::json;

namespace {
Json json_of(const Extent& at, bool main) {
  if (!main) return {0, 0, at.line, at.end_line, 2};
  return {at.begin, at.end, at.line, at.end_line, at.from_macro ? 1 : 0};
}
}  // namespace

SourceText::SourceText(CXTranslationUnit unit, std::string_view text)
    : text_(text),
      main_file_(clang_getFile(unit, to_string(clang_getTranslationUnitSpelling(unit)).c_str())) {}

bool SourceText::in_main(const Extent& at) const {
  return clang_File_isEqual(at.file, main_file_) != 0;
}

unsigned SourceText::end_of_use(unsigned begin) const {
  auto at = static_cast<std::size_t>(begin);
  while (at < text_.size() &&
         (std::isalnum(static_cast<unsigned char>(text_[at])) != 0 || text_[at] == '_')) {
    ++at;
  }
  const auto open = text_.find_first_not_of(" \t\n", at);
  if (open == std::string_view::npos || text_[open] != '(') return static_cast<unsigned>(at);
  int depth = 0;
  for (auto i = open; i < text_.size(); ++i) {
    if (text_[i] == '(') ++depth;
    if (text_[i] == ')' && --depth == 0) return static_cast<unsigned>(i + 1);
  }
  return static_cast<unsigned>(at);
}

unsigned SourceText::end_of_argument(unsigned begin) const {
  int depth = 0;
  char quote = 0;
  for (auto i = static_cast<std::size_t>(begin); i < text_.size(); ++i) {
    const char c = text_[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    const bool ends = c == ',' || c == ')';
    if (ends && depth == 0) {
      const auto last = text_.find_last_not_of(" \t\n", i - 1);
      return static_cast<unsigned>(last + 1);
    }
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') --depth;
  }
  return begin;
}

Extent SourceText::found(CXCursor cursor) const {
  auto at = extent(cursor);
  if (!in_main(at)) return at;
  if (at.from_macro) {
    at.end = std::max(at.end, end_of_use(at.begin));
  } else if (in_macro_argument(cursor)) {
    const auto last = end_of_argument(at.begin);
    if (at.end < at.begin || at.end > last) at.end = last;
  }
  at.end_line = at.line + static_cast<unsigned>(
                              std::count(text_.begin() + at.begin, text_.begin() + at.end, '\n'));
  return at;
}

Json SourceText::span(CXCursor cursor) const {
  const auto at = found(cursor);
  return json_of(at, in_main(at));
}

Json SourceText::statement_span(CXCursor statement) const {
  auto at = found(statement);
  if (!in_main(at)) return json_of(at, false);
  const auto next = text_.find_first_not_of(" \t\n", at.end);
  if (next != std::string_view::npos && text_[next] == ';')
    at.end = static_cast<unsigned>(next) + 1;
  return json_of(at, true);
}

std::string SourceText::text_of(CXCursor cursor) const {
  const auto at = found(cursor);
  if (!in_main(at) || at.begin >= at.end || at.end > text_.size()) {
    return at.from_macro ? "" : spelling(cursor);
  }
  return std::string(text_.substr(at.begin, at.end - at.begin));
}

std::string SourceText::header_of(CXCursor cursor) const {
  const auto text = text_of(cursor);
  const auto open = text.find('(');
  if (open == std::string::npos || text.starts_with("do")) return "";
  int depth = 0;
  for (auto i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return "";
}

std::string SourceText::member_name(CXCursor cursor) const {
  auto name = spelling(cursor);
  if (!name.empty()) return name;
  CXFile file = nullptr;
  unsigned offset = 0;
  clang_getSpellingLocation(clang_getRangeStart(clang_getCursorExtent(cursor)), &file, nullptr,
                            nullptr, &offset);
  if (clang_File_isEqual(file, main_file_) == 0) return name;
  const auto dot = text_.find('.', offset);
  if (dot == std::string_view::npos) return name;
  for (auto at = text_.find_first_not_of(" \t\n", dot + 1);
       at < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at])) != 0; ++at) {
    name += text_[at];
  }
  return name;
}

}  // namespace cuco::analysis
