// SPDX-License-Identifier: Apache-2.0
#include "llm/text_difference.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::llm {
namespace {

constexpr std::size_t kBefore = 2;
constexpr std::size_t kAfter = 3;
constexpr std::size_t kWidth = 100;

/// The part of a line around a column.
std::string around(std::string_view line, std::size_t column) {
  const std::size_t begin = column > kWidth / 2 ? column - kWidth / 2 : 0;
  std::string text = begin > 0 ? "…" : "";
  text += line.substr(std::min(begin, line.size()), kWidth);
  if (begin + kWidth < line.size()) text += "…";
  return text;
}

}  // namespace

std::string first_difference(std::string_view recorded, std::string_view now) {
  if (recorded == now) return {};
  const auto old_lines = split(recorded, '\n');
  const auto new_lines = split(now, '\n');
  std::size_t at = 0;
  while (at < old_lines.size() && at < new_lines.size() && old_lines[at] == new_lines[at])
    ++at;
  std::size_t column = 0;
  if (at < old_lines.size() && at < new_lines.size()) {
    const auto a = old_lines[at], b = new_lines[at];
    column = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  }
  std::string text = fmt::format("line {}, column {}\n", at + 1, column + 1);
  for (std::size_t i = at - std::min(at, kBefore); i < at; ++i)
    text += fmt::format("    {}\n", around(new_lines[i], 0));
  for (std::size_t i = at; i < std::min(old_lines.size(), at + kAfter); ++i)
    text += fmt::format("  - {}\n", around(old_lines[i], i == at ? column : 0));
  for (std::size_t i = at; i < std::min(new_lines.size(), at + kAfter); ++i)
    text += fmt::format("  + {}\n", around(new_lines[i], i == at ? column : 0));
  return text;
}

}  // namespace cuco::llm
