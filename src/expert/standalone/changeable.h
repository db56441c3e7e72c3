// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the text of a split program may change, and which of its functions to change for what.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/syntax_query.h"
#include "base/result.h"
#include "program/regions.h"
#include "program/tokens.h"

namespace cuco::expert {

/// A file without regions may change everywhere.
class Changeable {
 public:
  explicit Changeable(std::vector<program::Region> regions) : regions_(std::move(regions)) {}

  [[nodiscard]] bool holds(std::size_t at) const;
  [[nodiscard]] const std::vector<program::Region>& regions() const { return regions_; }

  /// Behind the include of NCCL; where that is frozen, in the first region outside of all braces
  /// that begins before the first use of the header.
  [[nodiscard]] Result<std::size_t> place_of_header(std::string_view text,
                                                    const std::vector<program::Identifier>& names,
                                                    std::size_t first_use) const;

  /// The function that does the work of an entry point, or the entry point itself: the first whose
  /// body may change and for which `fits` holds. Nothing if there is none.
  template <typename Fits>
  [[nodiscard]] const analysis::Function* function_for(const analysis::Syntax& syntax,
                                                       std::string_view entry,
                                                       Fits fits) const {
    for (const analysis::Function* function :
         {analysis::function_behind(syntax, entry), analysis::find_function(syntax, entry)}) {
      if (function == nullptr || !function->body) continue;
      const analysis::Span& body = function->body->span;
      if (body.from_macro || body.elsewhere || !holds(body.begin + 1)) continue;
      if (fits(*function)) return function;
    }
    return nullptr;
  }

 private:
  std::vector<program::Region> regions_;
};

/// From 1.
[[nodiscard]] int line_of(std::string_view text, std::size_t at);

}  // namespace cuco::expert
