// SPDX-License-Identifier: Apache-2.0
#include "expert/edit.h"

#include <algorithm>
#include <optional>

#include "base/assert.h"
#include "base/text.h"

namespace cuco::expert {

std::optional<std::string_view> resource(std::string_view name);

namespace {
constexpr std::size_t kWidth = 100;
}

void Edits::replace(std::size_t begin, std::size_t end, std::string text) {
  CUCO_ASSERT(begin <= end && end <= text_.size());
  edits_.push_back({begin, end, std::move(text)});
}

std::string Edits::take(std::size_t begin, std::size_t end) {
  // Stable: insertions at one place keep the order in which they were made.
  std::stable_sort(edits_.begin(), edits_.end(),
                   [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  std::string result;
  std::size_t at = begin;
  std::vector<Edit> left;
  for (auto& edit : edits_) {
    if (edit.begin < begin || edit.end > end) {
      left.push_back(std::move(edit));
      continue;
    }
    // Overlapping edits would be a bug of the design.
    CUCO_ASSERT(edit.begin >= at);
    result += text_.substr(at, edit.begin - at);
    result += edit.text;
    at = edit.end;
  }
  edits_ = std::move(left);
  return result += text_.substr(at, end - at);
}

std::string filled(std::string_view template_name, const Values& values) {
  const auto found = resource(template_name);
  CUCO_ASSERT(found.has_value());
  std::string result;
  std::string_view rest = *found;
  while (true) {
    const auto open = rest.find("{{");
    if (open == std::string_view::npos) return result += rest;
    const auto close = rest.find("}}", open);
    CUCO_ASSERT(close != std::string_view::npos);
    const auto value = values.find(rest.substr(open + 2, close - open - 2));
    CUCO_ASSERT(value != values.end());
    result += rest.substr(0, open);
    result += value->second;
    rest.remove_prefix(close + 2);
  }
}

std::string indented(std::string_view text, int columns) {
  std::string result;
  const std::string margin(static_cast<std::size_t>(columns), ' ');
  for (const auto line : split(text, '\n')) {
    if (!result.empty()) result += '\n';
    // Preprocessor lines stay where they are.
    if (!trim(line).empty() && !line.starts_with('#')) result += margin;
    result += line;
  }
  return result;
}

std::string parameter_list(const std::string& head,
                           const std::vector<std::string>& items,
                           std::size_t tail) {
  auto line = head + join(items, ", ");
  if (line.size() + tail <= kWidth) return line;
  return head + join(items, ",\n" + std::string(head.size(), ' '));
}

namespace {

/// Where a continuation line begins: after the innermost parenthesis that is open at the end.
std::size_t open_column(std::string_view line) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '(' || line[i] == '{') open.push_back(i + 1);
    if ((line[i] == ')' || line[i] == '}') && !open.empty()) open.pop_back();
  }
  return open.empty() ? line.find_first_not_of(' ') + 4 : open.back();
}

}  // namespace

std::string with_short_lines(std::string_view text) {
  std::string result;
  for (const auto original : split(text, '\n')) {
    std::string line(original);
    const bool code = line.find("//") == std::string::npos;
    while (code && line.size() > kWidth) {
      const auto comma = line.rfind(", ", kWidth - 1);
      if (comma == std::string::npos) break;
      const auto column = open_column(std::string_view(line).substr(0, comma));
      if (column >= comma) break;
      result += line.substr(0, comma + 1) + '\n';
      line = std::string(column, ' ') + line.substr(comma + 2);
    }
    result += line + '\n';
  }
  result.pop_back();
  return result;
}

}  // namespace cuco::expert
