// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/writing/rendering.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace cuco::expert::kernels {
namespace {

bool all_of(std::string_view text, std::string_view also) {
  return std::ranges::all_of(text, [&](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' ||
           also.find(static_cast<char>(c)) != also.npos;
  });
}

}  // namespace

std::string render(std::string_view text,
                   std::size_t begin,
                   std::size_t end,
                   std::vector<Replacement> replacements) {
  std::ranges::stable_sort(replacements, [](const Replacement& a, const Replacement& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    // What is put in front of a place stands in front of what replaces it.
    const bool inserts = a.begin == a.end;
    return inserts != (b.begin == b.end) ? inserts : a.end > b.end;
  });
  std::string result;
  std::size_t at = begin;
  for (const auto& replacement : replacements) {
    if (replacement.begin < at || replacement.end > end) continue;
    result += text.substr(at, replacement.begin - at);
    result += replacement.text;
    at = replacement.end;
  }
  return result += text.substr(at, end - at);
}

std::string at_column(std::string_view text, std::size_t column) {
  auto lines = split(text, '\n');
  while (!lines.empty() && trim(lines.front()).empty())
    lines.erase(lines.begin());
  while (!lines.empty() && trim(lines.back()).empty())
    lines.pop_back();
  std::size_t least = std::string::npos;
  for (const auto line : lines) {
    const auto first = line.find_first_not_of(' ');
    if (first != std::string_view::npos && line[first] != '#') least = std::min(least, first);
  }
  std::string result;
  for (const auto line : lines) {
    if (!result.empty()) result += '\n';
    const auto first = line.find_first_not_of(' ');
    if (first == std::string_view::npos) continue;
    if (line[first] == '#') {
      result += line;
    } else {
      result += std::string(column, ' ') + std::string(line.substr(std::min(first, least)));
    }
  }
  return result;
}

std::size_t indentation(std::string_view text, std::size_t position) {
  const auto newline = position == 0 ? std::string_view::npos : text.rfind('\n', position - 1);
  const auto begin = newline == std::string_view::npos ? 0 : newline + 1;
  const auto first = text.find_first_not_of(' ', begin);
  return (first == std::string_view::npos ? text.size() : first) - begin;
}

std::string as_factor(const std::string& expression) {
  return all_of(expression, "") ? expression : "(" + expression + ")";
}

std::string as_product(const std::string& expression) {
  return all_of(expression, "*/ ") ? expression : "(" + expression + ")";
}

std::string as_term(const std::string& expression) {
  return all_of(expression, "+*/ ()") ? expression : "(" + expression + ")";
}

}  // namespace cuco::expert::kernels
