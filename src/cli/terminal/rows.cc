// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/rows.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/printable.h"

namespace cuco::cli {
namespace {

/// Letters of alphabets whose characters are one column wide, and the signs that we draw with.
/// Marks that combine, signs that turn the direction of writing and wide characters are not there.
bool takes_one_column(char32_t sign) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range kRanges[] = {
      {0x20, 0x7E},     {0xA1, 0xAC},     {0xAE, 0x2FF},    {0x370, 0x377},   {0x37A, 0x37F},
      {0x384, 0x3FF},   {0x400, 0x482},   {0x48A, 0x52F},   {0x2010, 0x2027}, {0x2030, 0x205E},
      {0x2070, 0x2094}, {0x2190, 0x21FF}, {0x2200, 0x22FF}, {0x2500, 0x25A1}, {0x2713, 0x2717}};
  return std::ranges::any_of(
      kRanges, [sign](const Range& range) { return range.first <= sign && sign <= range.last; });
}

/// The code point of `bytes` bytes at the front of valid UTF-8.
char32_t decoded(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() == 1) return byte(0);
  char32_t sign = byte(0) & (0xFFU >> (bytes.size() + 1));
  for (std::size_t i = 1; i < bytes.size(); ++i)
    sign = (sign << 6U) | (byte(i) & 0x3FU);
  return sign;
}

}  // namespace

Row& Row::add(Style style, std::string_view text) {
  if (!text.empty()) spans_.push_back({style, std::string(text)});
  return *this;
}

Row& Row::add(const Row& other) {
  spans_.insert(spans_.end(), other.spans_.begin(), other.spans_.end());
  return *this;
}

Row& Row::to_column(int column) {
  const int at = width();
  const int missing = std::max(column - at, at == 0 ? 0 : 1);
  return add(std::string(static_cast<std::size_t>(std::max(missing, 0)), ' '));
}

int Row::width() const {
  int columns = 0;
  for (const Span& span : spans_)
    columns += display_width(span.text);
  return columns;
}

Row Row::clipped_to(int columns) const {
  if (width() <= columns) return *this;
  Row row;
  int left = columns;
  for (const Span& span : spans_) {
    const int wanted = display_width(span.text);
    // The last one that fits exactly must lose a column: more follows.
    if (wanted >= left) {
      row.add(span.style,
              wanted > left ? clipped(span.text, left) : clipped(span.text + " ", left));
      break;
    }
    row.add(span.style, span.text);
    left -= wanted;
  }
  return row;
}

std::string Row::text() const {
  std::string text;
  for (const Span& span : spans_)
    text += span.text;
  return text;
}

std::string one_line(std::string_view text) {
  const std::string safe = printable(text);
  std::string line;
  for (std::size_t i = 0; i < safe.size();) {
    std::size_t bytes = 1;
    while (i + bytes < safe.size() &&
           (static_cast<unsigned char>(safe[i + bytes]) & 0xC0U) == 0x80U)
      ++bytes;
    const std::string_view sign = std::string_view(safe).substr(i, bytes);
    i += bytes;
    const bool is_space = sign == "\n" || sign == "\t" || sign == " ";
    if (is_space) {
      if (!line.empty() && line.back() != ' ') line += ' ';
    } else if (takes_one_column(decoded(sign))) {
      line += sign;
    } else {
      line += '?';
    }
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::max(0.0, seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} m", whole / 3600, whole / 60 % 60);
}

}  // namespace cuco::cli
