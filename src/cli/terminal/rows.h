// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows: lines of a view that is redrawn in place, as data. Whoever lays them out knows neither
/// colours nor the terminal.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/terminal.h"

namespace cuco::cli {

struct Span {
  Style style = Style::Plain;
  std::string text;
  bool operator==(const Span&) const = default;
};

class Row {
 public:
  Row() = default;
  Row(std::initializer_list<Span> spans) : spans_(spans) {}

  Row& add(Style style, std::string_view text);
  Row& add(std::string_view text) { return add(Style::Plain, text); }
  Row& add(const Row& other);
  /// Spaces up to that column; at least one where something stands already.
  Row& to_column(int column);

  [[nodiscard]] int width() const;
  /// Cut to so many columns, ending in "…" where something was lost.
  [[nodiscard]] Row clipped_to(int columns) const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }
  bool operator==(const Row&) const = default;

 private:
  std::vector<Span> spans_;
};

/// Words that somebody else wrote, for a row: one line, nothing that a terminal obeys, and only
/// characters that take one column each. Others are shown as "?": a row that is wider than it
/// counts would wrap, and could not be drawn over.
[[nodiscard]] std::string one_line(std::string_view text);

/// "12 s", "4 m 10 s", "1 h 05 m".
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace cuco::cli
