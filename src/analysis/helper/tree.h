// SPDX-License-Identifier: Apache-2.0
/// \file
/// libclang's cursors, a little more comfortable.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <clang-c/Index.h>

namespace cuco::analysis {

/// Where the embedded headers seem to lie: no real folder, libclang is given their texts.
inline constexpr const char* kShimFolder = "/cuco-shim";

[[nodiscard]] std::string to_string(CXString text);
[[nodiscard]] std::vector<CXCursor> children(CXCursor cursor);
[[nodiscard]] CXCursorKind kind(CXCursor cursor);
[[nodiscard]] std::string spelling(CXCursor cursor);
[[nodiscard]] bool is_null(CXCursor cursor);
[[nodiscard]] bool is_expression(CXCursor cursor);
[[nodiscard]] bool has_body(CXCursor function);
[[nodiscard]] bool is_reference(CXType type);

/// Headers of the system, CUDA and NCCL; what they define is known by name, not followed.
[[nodiscard]] bool is_foreign(CXCursor declaration);

/// Where a cursor stands in the file that a person edits. What is written in a macro's argument
/// stands there; what a macro's body writes stands where the macro is used.
struct Extent {
  CXFile file = nullptr;
  unsigned begin = 0, end = 0;  ///< Offsets.
  unsigned line = 0, end_line = 0;
  bool from_macro = false;  ///< The text there is the macro's use, not the cursor's own.
};
[[nodiscard]] Extent extent(CXCursor cursor);

/// libclang loses the end of what ends a macro's argument: it has to be found in the text.
[[nodiscard]] bool in_macro_argument(CXCursor cursor);

/// Casts, parentheses and implicit nodes taken off.
[[nodiscard]] CXCursor stripped(CXCursor expression);

/// The type, canonical, without const and references.
[[nodiscard]] std::string type_name(CXType type);

/// A pointer or reference to something that may be written through it.
[[nodiscard]] bool allows_writing(CXType type);

}  // namespace cuco::analysis
