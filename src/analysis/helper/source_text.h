// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where cursors stand in the main file, and what is written there.
#pragma once

#include <string>
#include <string_view>

#include <clang-c/Index.h>
#include <nlohmann/json_fwd.hpp>

#include "analysis/helper/tree.h"

namespace cuco::analysis {

class SourceText {
 public:
  /// `text` is the main file's.
  SourceText(CXTranslationUnit unit, std::string_view text);

  /// [begin, end, line, last line, how]: how is 1 for what a macro's body writes, 2 for other
  /// files.
  [[nodiscard]] nlohmann::json span(CXCursor cursor) const;
  /// With its semicolon, if it has one.
  [[nodiscard]] nlohmann::json statement_span(CXCursor statement) const;
  [[nodiscard]] std::string text_of(CXCursor cursor) const;
  /// "int i = 0; i < n; ++i" of a loop.
  [[nodiscard]] std::string header_of(CXCursor loop) const;
  /// threadIdx.x is a property, for which libclang has no name: the text has it, be it a macro's.
  [[nodiscard]] std::string member_name(CXCursor member) const;

 private:
  [[nodiscard]] bool in_main(const Extent& at) const;
  /// The use of a macro, with its arguments.
  [[nodiscard]] unsigned end_of_use(unsigned begin) const;
  /// Up to the comma or parenthesis that ends the argument of a macro.
  [[nodiscard]] unsigned end_of_argument(unsigned begin) const;
  [[nodiscard]] Extent found(CXCursor cursor) const;

  std::string_view text_;
  CXFile main_file_;
};

}  // namespace cuco::analysis
