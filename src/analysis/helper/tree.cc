// SPDX-License-Identifier: Apache-2.0
#include "analysis/helper/tree.h"

#include <algorithm>

namespace cuco::analysis {
namespace {

bool is_expression(CXCursor cursor) {
  return clang_isExpression(kind(cursor)) != 0;
}

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
    case CXCursor_CXXFunctionalCastExpr:
      return true;
    default:
      return false;
  }
}

/// The pointer side of p + i or i + p.
CXCursor pointer_side(CXCursor sum) {
  const auto sides = children(sum);
  if (sides.size() != 2) return clang_getNullCursor();
  return is_pointer_like(sides[1]) && !is_pointer_like(sides[0]) ? sides[1] : sides[0];
}

bool is_additive(CXCursor cursor) {
  const auto operation = clang_getCursorBinaryOperatorKind(cursor);
  return operation == CXBinaryOperator_Add || operation == CXBinaryOperator_Sub;
}

std::string field_root(CXCursor member) {
  const auto parts = children(member);
  // In a member function a field may stand without its object.
  const auto owner = parts.empty()
                         ? clang_getCursorSemanticParent(clang_getCursorReferenced(member))
                         : parts.front();
  auto type = clang_getCursorType(owner);
  if (type.kind == CXType_Invalid) return "";
  if (type.kind == CXType_Pointer) type = clang_getPointeeType(type);
  auto name = to_string(clang_getTypeSpelling(clang_getUnqualifiedType(type)));
  if (const auto colon = name.rfind("::"); colon != std::string::npos) name.erase(0, colon + 2);
  return "field:" + name + "::" + spelling(member);
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

bool is_pointer_like(CXCursor expression) {
  const auto type = clang_getCanonicalType(clang_getCursorType(expression)).kind;
  return type == CXType_Pointer || type == CXType_ConstantArray || type == CXType_IncompleteArray;
}

Position begin_of(CXCursor cursor) {
  Position position;
  clang_getExpansionLocation(clang_getRangeStart(clang_getCursorExtent(cursor)), nullptr,
                             &position.line, nullptr, &position.offset);
  return position;
}

Position end_of(CXCursor cursor) {
  Position position;
  clang_getExpansionLocation(clang_getRangeEnd(clang_getCursorExtent(cursor)), nullptr,
                             &position.line, nullptr, &position.offset);
  return position;
}

std::string variable_id(CXCursor declaration) {
  return spelling(declaration) + "@" + std::to_string(begin_of(declaration).offset);
}

CXCursor stripped(CXCursor expression) {
  while (is_wrapper(kind(expression))) {
    const auto inner = operand(expression);
    if (clang_Cursor_isNull(inner) != 0) break;
    expression = inner;
  }
  return expression;
}

std::string root_of(CXCursor expression) {
  const auto cursor = stripped(expression);
  const auto parts = children(cursor);
  switch (kind(cursor)) {
    case CXCursor_UnaryOperator:
    case CXCursor_ArraySubscriptExpr:
      return parts.empty() ? "" : root_of(parts.front());
    case CXCursor_BinaryOperator:
      return is_additive(cursor) ? root_of(pointer_side(cursor)) : "";
    case CXCursor_ConditionalOperator:
      return parts.size() == 3 ? root_of(parts[1]) : "";
    case CXCursor_MemberRefExpr:
      return field_root(cursor);
    case CXCursor_DeclRefExpr: {
      const auto declaration = clang_getCursorReferenced(cursor);
      const auto what = kind(declaration);
      const bool variable = what == CXCursor_VarDecl || what == CXCursor_ParmDecl;
      return variable ? "var:" + variable_id(declaration) : "";
    }
    default:
      return "";
  }
}

bool goes_through_pointer(CXCursor expression) {
  const auto cursor = stripped(expression);
  const auto parts = children(cursor);
  if (parts.empty()) return false;
  switch (kind(cursor)) {
    case CXCursor_ArraySubscriptExpr:
      return true;
    case CXCursor_UnaryOperator:
      return clang_getCursorUnaryOperatorKind(cursor) == CXUnaryOperator_Deref ||
             goes_through_pointer(parts.front());
    case CXCursor_MemberRefExpr:
      return goes_through_pointer(parts.front());
    default:
      return false;
  }
}

}  // namespace cuco::analysis
