// SPDX-License-Identifier: Apache-2.0
#include "judge/whole/printed_numbers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace cuco::judge {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// What a number cannot follow directly: it would be part of a name or a version.
bool is_part_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at]))
    ++at;
  return at;
}

/// Where the number at the beginning ends, and how many digits stand behind its point; 0: there is
/// none, or a whole one.
struct Extent {
  std::size_t length = 0;
  int places = 0;
};

Extent decimal_at(std::string_view text) {
  std::size_t at = !text.empty() && text.front() == '-' ? 1 : 0;
  const std::size_t whole = skip_digits(text, at);
  if (whole == at) return {};
  Extent extent{.length = whole};
  bool is_decimal = false;
  if (whole + 1 < text.size() && text[whole] == '.' && is_digit(text[whole + 1])) {
    extent.length = skip_digits(text, whole + 1);
    extent.places = static_cast<int>(extent.length - whole - 1);
    is_decimal = true;
  }
  at = extent.length;
  if (at + 1 < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const std::size_t digits = at + (text[at + 1] == '+' || text[at + 1] == '-' ? 2 : 1);
    const std::size_t end = skip_digits(text, digits);
    if (end > digits) {
      extent.length = end;
      is_decimal = true;
    }
  }
  const bool ends = extent.length == text.size() || !is_part_of_word(text[extent.length]) ||
                    (text[extent.length] == '.' &&
                     (extent.length + 1 == text.size() || !is_digit(text[extent.length + 1])));
  return is_decimal && ends ? extent : Extent{};
}

PrintedNumber number_of(std::string_view text, int places) {
  PrintedNumber number;
  std::from_chars(text.data(), text.data() + text.size(), number.value);
  const std::size_t exponent = text.find_first_of("eE");
  int power = 0;
  if (exponent != std::string_view::npos) {
    const char* begin = text.data() + exponent + 1;
    if (*begin == '+') ++begin;
    std::from_chars(begin, text.data() + text.size(), power);
  }
  number.last_place = std::pow(10.0, power - places);
  return number;
}

bool speaks_of_errors(std::string_view text) {
  static constexpr auto kWords =
      std::to_array<std::string_view>({"err", "diff", "residu", "deviat", "norm of", "delta"});
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace

PrintedLine parse_line(std::string_view line) {
  PrintedLine parsed;
  for (std::size_t at = 0; at < line.size();) {
    const bool may_begin = at == 0 || !is_part_of_word(line[at - 1]);
    const Extent extent = may_begin ? decimal_at(line.substr(at)) : Extent{};
    if (extent.length == 0) {
      // Padding grows and shrinks with the number it precedes.
      if (line[at] != ' ' || parsed.text.empty() || parsed.text.back() != ' ')
        parsed.text += line[at];
      ++at;
      continue;
    }
    parsed.numbers.push_back(number_of(line.substr(at, extent.length), extent.places));
    parsed.text += '#';
    at += extent.length;
  }
  return parsed;
}

bool is_close(const PrintedLine& expected, const PrintedLine& got, double relative) {
  if (expected.text != got.text || expected.numbers.size() != got.numbers.size()) return false;
  const bool are_errors = speaks_of_errors(expected.text);
  for (std::size_t i = 0; i < expected.numbers.size(); ++i) {
    const PrintedNumber& a = expected.numbers[i];
    const PrintedNumber& b = got.numbers[i];
    if (are_errors && std::max(std::abs(a.value), std::abs(b.value)) <= relative) continue;
    const double place = std::max(a.last_place, b.last_place);
    // Half a unit was rounded away on either side, and the digits themselves are decimal.
    const double allowed = std::max(1.01 * place, relative * std::abs(a.value));
    if (std::abs(a.value - b.value) > allowed) return false;
  }
  return true;
}

}  // namespace cuco::judge
