// SPDX-License-Identifier: Apache-2.0
/// \file
/// libclang's cursors, a little more comfortable.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <clang-c/Index.h>

namespace cuco::analysis {

[[nodiscard]] std::string to_string(CXString text);
[[nodiscard]] std::vector<CXCursor> children(CXCursor cursor);
[[nodiscard]] CXCursorKind kind(CXCursor cursor);
[[nodiscard]] std::string spelling(CXCursor cursor);
[[nodiscard]] bool is_pointer_like(CXCursor expression);

/// Position in the main file, macro expansions taken where they are used.
struct Position {
  unsigned offset = 0;
  unsigned line = 0;
};
[[nodiscard]] Position begin_of(CXCursor cursor);
[[nodiscard]] Position end_of(CXCursor cursor);

/// The storage that a pointer or lvalue expression points into: see Root in analysis/facts.h.
[[nodiscard]] std::string root_of(CXCursor expression);
[[nodiscard]] std::string variable_id(CXCursor declaration);

/// True where the expression goes through a pointer (*p, p[i]) on the way to its root.
[[nodiscard]] bool goes_through_pointer(CXCursor expression);

/// Casts, parentheses and implicit nodes taken off.
[[nodiscard]] CXCursor stripped(CXCursor expression);

}  // namespace cuco::analysis
