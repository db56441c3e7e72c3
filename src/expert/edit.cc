// SPDX-License-Identifier: Apache-2.0
#include "expert/edit.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

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

std::vector<std::size_t> Edits::places() const {
  std::vector<std::size_t> places;
  for (const Edit& edit : edits_)
    places.push_back(edit.begin);
  return places;
}

std::string Edits::take(std::size_t begin, std::size_t end) {
  // Stable: insertions at one place keep the order in which they were made, and come before what
  // takes the place of the text there.
  std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.begin == a.end && b.begin != b.end;
  });
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

/// What is open at the end of a line.
struct Open {
  std::size_t column;  ///< Where a continuation line begins.
  bool parentheses;    ///< Some are open.
};

Open open_at_end(std::string_view line, bool inside) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '(' || line[i] == '{') open.push_back(i + 1);
    if ((line[i] == ')' || line[i] == '}') && !open.empty()) open.pop_back();
  }
  if (!open.empty()) return {open.back(), line[open.back() - 1] == '('};
  // A line that goes on in the parentheses of another one is indented already.
  return {line.find_first_not_of(' ') + (inside ? 0 : 4), inside};
}

/// Where to break a line; nothing if there is no such place.
std::size_t last_break(const std::string& line, bool inside) {
  for (auto at = line.find_last_of(",;", kWidth - 1); at != std::string::npos && at > 0;
       at = line.find_last_of(",;", at - 1)) {
    if (at + 1 >= line.size() || line[at + 1] != ' ') continue;
    const auto open = open_at_end(std::string_view(line).substr(0, at), inside);
    if (line[at] == ',' || open.parentheses) return at;
  }
  return std::string::npos;
}

/// The line in pieces, each further one under the innermost open parenthesis.
std::vector<std::string> broken_under_parenthesis(std::string line, bool inside) {
  std::vector<std::string> pieces;
  while (line.size() > kWidth) {
    const auto at = last_break(line, inside);
    if (at == std::string::npos) break;
    const auto column = open_at_end(std::string_view(line).substr(0, at), inside).column;
    if (column >= at) break;
    pieces.push_back(line.substr(0, at + 1));
    line = std::string(column, ' ') + line.substr(at + 2);
    inside = true;
  }
  pieces.push_back(std::move(line));
  return pieces;
}

/// The same or, where that leaves a narrow column, broken behind the parenthesis.
std::vector<std::string> broken(const std::string& line, bool inside) {
  constexpr std::size_t kMost = 4;
  constexpr std::size_t kIndent = 4;
  auto pieces = broken_under_parenthesis(line, inside);
  const bool fits = std::ranges::all_of(pieces, [](const auto& p) { return p.size() <= kWidth; });
  if (fits && pieces.size() <= kMost) return pieces;
  const auto column = pieces.size() > 1
                          ? pieces[1].find_first_not_of(' ')
                          : open_at_end(std::string_view(line).substr(0, kWidth), inside).column;
  if (column == 0 || line[column - 1] != '(') return pieces;
  const auto indent = line.find_first_not_of(' ') + kIndent;
  auto rest = broken_under_parenthesis(std::string(indent, ' ') + line.substr(column), true);
  rest.insert(rest.begin(), line.substr(0, column));
  return rest;
}

}  // namespace

std::string with_short_lines(std::string_view text, std::string_view original) {
  const auto lines = split(original, '\n');
  const std::set<std::string_view> kept(lines.begin(), lines.end());
  std::vector<std::string> result;
  std::ptrdiff_t depth = 0;  // of parentheses, at the begin of a line
  bool in_directive = false;
  for (const auto line : split(text, '\n')) {
    const auto code = line.substr(0, line.find("//"));
    // A directive of the preprocessor ends with its line.
    in_directive = in_directive || trim(line).starts_with('#');
    const bool breakable = code.size() == line.size() && !in_directive && !kept.contains(line);
    in_directive = in_directive && line.ends_with('\\');
    if (!breakable || line.size() <= kWidth) {
      result.emplace_back(line);
    } else {
      std::ranges::move(broken(std::string(line), depth > 0), std::back_inserter(result));
    }
    depth += std::ranges::count(code, '(') - std::ranges::count(code, ')');
  }
  return join(result, "\n");
}

}  // namespace cuco::expert
