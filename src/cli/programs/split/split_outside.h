// SPDX-License-Identifier: Apache-2.0
/// \file
/// What of a program's text stands beside main(), and small questions about its statements.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/syntax.h"

namespace cuco::cli {

struct SplitOutside {
  std::vector<analysis::Span> includes;  ///< #include lines, none of MPI's.
  std::vector<analysis::Span> kept;      ///< The rest, without functions that nobody needs.
};

/// `needed`: names that the parts of main() use which are kept.
[[nodiscard]] SplitOutside find_outside(const analysis::Syntax& syntax,
                                        const analysis::Function& main,
                                        std::string_view text,
                                        const std::set<std::string, std::less<>>& needed);

/// Whether it may change a variable, by its number, that is asked for: assigns it, counts it, takes
/// its address or calls one of its members.
[[nodiscard]] bool writes_to(const analysis::Statement& statement,
                             const std::function<bool(int)>& is_asked_for);

/// kernel<<<grid, block, shared, …>>>(arguments)
struct LaunchText {
  std::size_t begin = 0, end = 0;
  std::string kernel, grid, block, shared, arguments;
};
[[nodiscard]] std::optional<LaunchText> launch_at(std::string_view text,
                                                  const analysis::Span& span);

}  // namespace cuco::cli
