// SPDX-License-Identifier: Apache-2.0
/// \file
/// Edits of a text by position, and templates with {{placeholders}}.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cuco::expert {

/// Non-overlapping replacements, given in any order, all in positions of the original text.
class Edits {
 public:
  explicit Edits(std::string_view text) : text_(text) {}

  void insert(std::size_t at, std::string text) { replace(at, at, std::move(text)); }
  void replace(std::size_t begin, std::size_t end, std::string text);

  /// Where something changes.
  [[nodiscard]] std::vector<std::size_t> places() const;

  /// The text of [begin, end) with the edits inside it, which are used up by this.
  [[nodiscard]] std::string take(std::size_t begin, std::size_t end);

  /// The whole text with what is left of the edits.
  [[nodiscard]] std::string apply() { return take(0, text_.size()); }

 private:
  struct Edit {
    std::size_t begin, end;
    std::string text;
  };
  std::string_view text_;
  std::vector<Edit> edits_;
};

using Values = std::map<std::string, std::string, std::less<>>;

/// The embedded template with its placeholders filled; every placeholder needs a value.
[[nodiscard]] std::string filled(std::string_view template_name, const Values& values);

/// Each line that is not empty, moved right by `columns`.
[[nodiscard]] std::string indented(std::string_view text, int columns);

/// "head(a, b, c": on one line if `tail` more columns fit, else one item a line, aligned.
[[nodiscard]] std::string parameter_list(const std::string& head,
                                         const std::vector<std::string>& items,
                                         std::size_t tail);

/// Breaks lines of more than 100 columns after a comma or, in parentheses, a semicolon, under the
/// innermost open parenthesis. Lines with comments, directives of the preprocessor and lines of
/// `original` are left alone.
[[nodiscard]] std::string with_short_lines(std::string_view text, std::string_view original = "");

}  // namespace cuco::expert
