// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lines of output: text must be the same, numbers with a decimal point as close as their printed
/// digits and the arithmetic behind them allow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cuco::judge {

/// A number as printed: 12.50 has a last place of 0.01.
struct PrintedNumber {
  double value = 0;
  double last_place = 0;
};

/// A line with "#" for each number that has a point or an exponent. Whole numbers stay: counts and
/// indices are exact.
struct PrintedLine {
  std::string text;
  std::vector<PrintedNumber> numbers;
};
[[nodiscard]] PrintedLine parse_line(std::string_view line);

/// The same text, and each number within a unit of its last place or `relative` of its size. In
/// lines about errors and differences, numbers below `relative` are all alike: they are what is
/// left of the rounding.
[[nodiscard]] bool is_close(const PrintedLine& expected, const PrintedLine& got, double relative);

}  // namespace cuco::judge
