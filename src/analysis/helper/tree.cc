// SPDX-License-Identifier: Apache-2.0
#include "analysis/helper/tree.h"

#include <algorithm>

namespace cuco::analysis {
namespace {

/// The operand of a cast or wrapper: its last child that is an expression.
CXCursor operand(CXCursor cursor) {
  CXCursor found = clang_getNullCursor();
  for (const auto child : children(cursor)) {
    if (is_expression(child)) found = child;
  }
  return found;
}

bool is_wrapper(CXCursorKind node) {
  switch (node) {
    case CXCursor_UnexposedExpr:
    case CXCursor_ParenExpr:
    case CXCursor_CStyleCastExpr:
    case CXCursor_CXXStaticCastExpr:
    case CXCursor_CXXReinterpretCastExpr:
    case CXCursor_CXXConstCastExpr:
    case CXCursor_CXXDynamicCastExpr:
    case CXCursor_CXXFunctionalCastExpr:
      return true;
    default:
      return false;
  }
}

struct Place {
  CXFile file = nullptr;
  unsigned line = 0, offset = 0;
};

using Locate = void (*)(CXSourceLocation, CXFile*, unsigned*, unsigned*, unsigned*);

Place place(CXSourceLocation location, Locate locate) {
  Place found;
  locate(location, &found.file, &found.line, nullptr, &found.offset);
  return found;
}

/// In a macro's body: spelled elsewhere than where the file shows it.
bool in_macro_body(CXSourceLocation location) {
  const auto spelled = place(location, clang_getSpellingLocation);
  const auto shown = place(location, clang_getFileLocation);
  return spelled.offset != shown.offset || clang_File_isEqual(spelled.file, shown.file) == 0;
}

}  // namespace

std::string to_string(CXString text) {
  const char* bytes = clang_getCString(text);
  std::string result = bytes == nullptr ? "" : bytes;
  clang_disposeString(text);
  return result;
}

std::vector<CXCursor> children(CXCursor cursor) {
  std::vector<CXCursor> found;
  clang_visitChildren(
      cursor,
      [](CXCursor child, CXCursor, CXClientData data) {
        static_cast<std::vector<CXCursor>*>(data)->push_back(child);
        return CXChildVisit_Continue;
      },
      &found);
  return found;
}

CXCursorKind kind(CXCursor cursor) {
  return clang_getCursorKind(cursor);
}

std::string spelling(CXCursor cursor) {
  return to_string(clang_getCursorSpelling(cursor));
}

bool is_null(CXCursor cursor) {
  return clang_Cursor_isNull(cursor) != 0;
}

bool is_expression(CXCursor cursor) {
  return clang_isExpression(kind(cursor)) != 0;
}

bool is_foreign(CXCursor declaration) {
  const auto location = clang_getCursorLocation(declaration);
  if (clang_Location_isInSystemHeader(location) != 0) return true;
  const auto file = place(location, clang_getFileLocation).file;
  return file != nullptr && to_string(clang_getFileName(file)).starts_with(kShimFolder);
}

bool in_macro_argument(CXCursor cursor) {
  const auto begin = clang_getRangeStart(clang_getCursorExtent(cursor));
  return !in_macro_body(begin) && place(begin, clang_getFileLocation).offset !=
                                      place(begin, clang_getExpansionLocation).offset;
}

Extent extent(CXCursor cursor) {
  const auto range = clang_getCursorExtent(cursor);
  const auto begin = clang_getRangeStart(range);
  const auto end = clang_getRangeEnd(range);
  const auto first = place(begin, clang_getFileLocation);
  const auto last = place(end, clang_getFileLocation);
  if (!in_macro_body(begin)) {
    return {first.file, first.offset, last.offset, first.line, last.line, false};
  }
  const auto use = place(begin, clang_getExpansionLocation);
  const auto use_end = place(end, clang_getExpansionLocation);
  return {use.file, use.offset, use_end.offset, use.line, use_end.line, true};
}

CXCursor stripped(CXCursor expression) {
  while (is_wrapper(kind(expression))) {
    const auto inner = operand(expression);
    if (is_null(inner)) break;
    expression = inner;
  }
  return expression;
}

std::string type_name(CXType type) {
  type = clang_getCanonicalType(type);
  if (type.kind == CXType_LValueReference || type.kind == CXType_RValueReference) {
    type = clang_getPointeeType(type);
  }
  return to_string(clang_getTypeSpelling(clang_getUnqualifiedType(type)));
}

bool allows_writing(CXType type) {
  type = clang_getCanonicalType(type);
  const bool leads = type.kind == CXType_Pointer || type.kind == CXType_LValueReference ||
                     type.kind == CXType_RValueReference;
  return leads && clang_isConstQualifiedType(clang_getPointeeType(type)) == 0;
}

bool has_body(CXCursor function) {
  const auto parts = children(function);
  return std::any_of(parts.begin(), parts.end(), [](CXCursor child) {
    return kind(child) == CXCursor_CompoundStmt || kind(child) == CXCursor_CXXTryStmt;
  });
}

bool is_reference(CXType type) {
  type = clang_getCanonicalType(type);
  return type.kind == CXType_LValueReference || type.kind == CXType_RValueReference;
}

}  // namespace cuco::analysis
