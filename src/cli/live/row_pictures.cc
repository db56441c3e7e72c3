// SPDX-License-Identifier: Apache-2.0
#include "cli/live/row_pictures.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cuco::cli {
namespace {

constexpr std::array<std::string_view, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> kParts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

/// The largest of each group, in so many groups of about the same size.
std::vector<double> gathered(std::span<const double> values, std::size_t groups) {
  if (values.size() <= groups) return {values.begin(), values.end()};
  std::vector<double> largest;
  for (std::size_t i = 0; i < groups; ++i) {
    const std::size_t begin = i * values.size() / groups;
    const std::size_t end = (i + 1) * values.size() / groups;
    largest.push_back(*std::max_element(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                        values.begin() + static_cast<std::ptrdiff_t>(end)));
  }
  return largest;
}

std::string repeated(std::string_view sign, int times) {
  std::string text;
  for (int i = 0; i < times; ++i)
    text += sign;
  return text;
}

}  // namespace

Row sparkline(std::span<const double> speedups, int columns) {
  Row row;
  if (columns < 1 || speedups.empty()) return row;
  const auto shown = gathered(speedups, static_cast<std::size_t>(columns));
  // The seed's speed is always on the scale: a bar's height says something by itself.
  double low = 1;
  double high = 1;
  for (const double value : shown) {
    if (value <= 0) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const bool any_faster = high > 1;
  for (const double value : shown) {
    if (value <= 0) {
      row.add(Style::Bad, "×");
      continue;
    }
    const double share = high > low ? (value - low) / (high - low) : 0;
    const auto step = static_cast<std::size_t>(std::lround(share * (kBars.size() - 1)));
    row.add(any_faster && value == high ? Style::Good
            : value < 1                 ? Style::Dim
                                        : Style::Plain,
            kBars[std::min(step, kBars.size() - 1)]);
  }
  return row;
}

Row way(double from, double at, double to, int columns) {
  Row row;
  if (columns < 1) return row;
  const double share = from > to ? std::clamp((from - at) / (from - to), 0.0, 1.0) : 0;
  const int halves = static_cast<int>(std::lround(share * 2 * columns));
  row.add(Style::Good, repeated("━", halves / 2) + (halves % 2 != 0 ? "╸" : ""));
  row.add(Style::Dim, repeated("─", columns - (halves + 1) / 2));
  return row;
}

Row bar(double share, int columns) {
  Row row;
  if (columns < 1) return row;
  const int eighths = static_cast<int>(std::floor(std::clamp(share, 0.0, 1.0) * 8 * columns));
  const std::string full =
      repeated("█", eighths / 8) + std::string(kParts[static_cast<std::size_t>(eighths % 8)]);
  row.add(Style::Accent, full);
  row.add(Style::Dim, repeated("░", columns - (eighths + 7) / 8));
  return row;
}

}  // namespace cuco::cli
