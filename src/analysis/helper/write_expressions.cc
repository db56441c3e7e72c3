// SPDX-License-Identifier: Apache-2.0
#include "analysis/helper/tree.h"
#include "analysis/helper/tree_writer.h"

namespace cuco::analysis {
using Json = nlohmann::json;

namespace {
long long integer_value(CXCursor cursor) {
  const auto result = clang_Cursor_Evaluate(cursor);
  if (result == nullptr) return 0;
  const bool integer = clang_EvalResult_getKind(result) == CXEval_Int;
  const auto value = integer ? clang_EvalResult_getAsLongLong(result) : 0;
  clang_EvalResult_dispose(result);
  return value;
}

bool is_pointer(CXType type) {
  return clang_getCanonicalType(type).kind == CXType_Pointer;
}

std::string unary_operator(CXCursor cursor) {
  switch (clang_getCursorUnaryOperatorKind(cursor)) {
    case CXUnaryOperator_Deref:
      return "*";
    case CXUnaryOperator_AddrOf:
      return "&";
    default:
      return to_string(
          clang_getUnaryOperatorKindSpelling(clang_getCursorUnaryOperatorKind(cursor)));
  }
}

/// Which arguments the callee may write through.
void add_mutability(Json& json, CXCursor called) {
  if (is_null(called)) return;
  const auto type = clang_getCursorType(called);
  const int count = clang_getNumArgTypes(type);
  const bool operator_member =
      kind(called) == CXCursor_CXXMethod && json["name"].get<std::string>().starts_with("operator");
  auto flags = Json::array();
  if (operator_member) flags.push_back(clang_CXXMethod_isConst(called) == 0);
  for (int i = 0; i < count; ++i)
    flags.push_back(allows_writing(clang_getArgType(type, static_cast<unsigned>(i))));
  json["writable"] = std::move(flags);
}

std::string callee_name(CXCursor call, const std::vector<CXCursor>& parts) {
  auto name = spelling(call);
  if (!name.empty() || parts.empty()) return name;
  // In a template the callee may be an unresolved set of overloads.
  for (auto cursor = parts.front();;) {
    if (kind(cursor) == CXCursor_OverloadedDeclRef || kind(cursor) == CXCursor_DeclRefExpr) {
      return spelling(cursor);
    }
    const auto inner = children(cursor);
    if (inner.empty()) return name;
    cursor = inner.front();
  }
}
}  // namespace

Json TreeWriter::expression(CXCursor written) {
  const auto cursor = stripped(written);
  const auto parts = children(cursor);
  // Parentheses of a macro's body around its argument hide where that stands.
  const auto shown = extent(written).from_macro ? cursor : written;
  Json json{{"span", source_.span(shown)}, {"text", source_.text_of(shown)}};
  // An array stays one, whatever it is used as.
  const auto own = clang_getCanonicalType(clang_getCursorType(cursor));
  const bool array = own.kind == CXType_ConstantArray || own.kind == CXType_IncompleteArray ||
                     own.kind == CXType_VariableArray;
  const auto type = type_name(array ? own : clang_getCursorType(written));
  if (!type.empty()) json["type"] = type;
  switch (kind(cursor)) {
    case CXCursor_IntegerLiteral:
    case CXCursor_CXXBoolLiteralExpr:
      json["kind"] = "literal";
      json["value"] = integer_value(cursor);
      return json;
    case CXCursor_FloatingLiteral:
    case CXCursor_StringLiteral:
    case CXCursor_CharacterLiteral:
    case CXCursor_CXXNullPtrLiteralExpr:
      json["kind"] = "literal";
      return json;
    case CXCursor_DeclRefExpr:
      return name(std::move(json), cursor);
    case CXCursor_MemberRefExpr:
      return member(std::move(json), cursor, parts);
    case CXCursor_ArraySubscriptExpr:
      json["kind"] = "index";
      break;
    case CXCursor_UnaryOperator:
      json["kind"] = "unary";
      json["name"] = unary_operator(cursor);
      break;
    case CXCursor_BinaryOperator:
    case CXCursor_CompoundAssignOperator: {
      const auto operation = clang_getCursorBinaryOperatorKind(cursor);
      const bool assigns =
          operation >= CXBinaryOperator_Assign && operation <= CXBinaryOperator_OrAssign;
      json["kind"] = assigns ? "assign" : "binary";
      json["name"] = to_string(clang_getBinaryOperatorKindSpelling(operation));
      break;
    }
    case CXCursor_ConditionalOperator:
      json["kind"] = "conditional";
      break;
    case CXCursor_CallExpr:
      return call(std::move(json), cursor, parts);
    case CXCursor_LambdaExpr:
      json["kind"] = "lambda";
      json["function"] = lambda_id(cursor);
      return json;
    case CXCursor_InitListExpr:
      json["kind"] = "list";
      if (own.kind == CXType_Record) json["record"] = record_of(own);
      break;
    case CXCursor_CXXNewExpr:
      json["kind"] = "new";
      break;
    case CXCursor_CXXThisExpr:
      json["kind"] = "this";
      return json;
    case CXCursor_StmtExpr:
      json["kind"] = "block";
      for (const auto part : parts)
        json["statement"] = statement(part);
      return json;
    default:
      json["kind"] = "other";
      break;
  }
  json["operands"] = Json::array();
  for (const auto part : parts) {
    if (is_expression(part)) json["operands"].push_back(expression(part));
  }
  return json;
}

Json TreeWriter::name(Json json, CXCursor cursor) {
  const auto declared = clang_getCursorReferenced(cursor);
  json["name"] = spelling(cursor);
  switch (kind(declared)) {
    case CXCursor_VarDecl:
    case CXCursor_ParmDecl:
      json["kind"] = "variable";
      json["variable"] = variable_id(declared);
      break;
    case CXCursor_FunctionDecl:
    case CXCursor_CXXMethod:
    case CXCursor_FunctionTemplate:
      json["kind"] = "function";
      json["function"] = function_id(declared);
      break;
    default:
      json["kind"] = "literal";
      json["value"] = integer_value(cursor);
      break;
  }
  return json;
}

Json TreeWriter::member(Json json, CXCursor cursor, const std::vector<CXCursor>& parts) {
  json["kind"] = "member";
  json["name"] = source_.member_name(cursor);
  json["operands"] = Json::array();
  for (const auto part : parts) {
    if (is_expression(part)) json["operands"].push_back(expression(part));
  }
  // Inside a member function the object may be left out.
  if (json["operands"].empty()) {
    json["operands"].push_back({{"kind", "this"}, {"span", json["span"]}, {"text", ""}});
    json["arrow"] = true;
  } else {
    for (const auto part : parts) {
      if (is_expression(part)) json["arrow"] = is_pointer(clang_getCursorType(part));
    }
  }
  return json;
}

Json TreeWriter::arguments_of(CXCursor call) {
  auto list = Json::array();
  const int count = clang_Cursor_getNumArguments(call);
  for (int i = 0; i < count; ++i)
    list.push_back(expression(clang_Cursor_getArgument(call, static_cast<unsigned>(i))));
  return list;
}

Json TreeWriter::call(Json json, CXCursor cursor, const std::vector<CXCursor>& parts) {
  const auto called = clang_getCursorReferenced(cursor);
  json["kind"] = "call";
  json["name"] = callee_name(cursor, parts);
  json["operands"] = arguments_of(cursor);
  for (const auto part : parts) {
    const auto what = kind(part) == CXCursor_CallExpr ? spelling(part) : "";
    if (what != "cudaConfigureCall" && what != "__cudaPushCallConfiguration") continue;
    json["kind"] = "launch";
    json["configuration"] = arguments_of(part);
    json["callee"] = expression(parts.front());
    return json;
  }
  // A closure is called by the value that holds it.
  if (json["name"] == "operator()" && !json["operands"].empty()) {
    json["callee"] = json["operands"][0];
    json["operands"].erase(0);
  }
  // In a template that depends on its arguments only the text shows a launch.
  if (is_null(called) && json["text"].get<std::string>().find("<<<") != std::string::npos) {
    json["kind"] = "launch";
    json["callee"] = {{"kind", "other"}, {"span", json["span"]}, {"text", json["name"]}};
    return json;
  }
  if (kind(called) == CXCursor_Constructor) json["kind"] = "construct";
  json["function"] = is_null(called) ? -1 : function_id(called);
  if (json["kind"] == "construct") {
    json["record"] = record_id(clang_getCursorSemanticParent(called));
    return json;
  }
  add_mutability(json, called);
  const auto result = clang_getCursorResultType(called);
  json["lvalue"] = !is_null(called) && is_reference(result);
  if (parts.empty()) return json;
  const auto callee = stripped(parts.front());
  if (kind(callee) == CXCursor_MemberRefExpr) {
    auto owner = member(Json{{"span", json["span"]}, {"text", ""}}, callee, children(callee));
    json["arrow"] = owner["arrow"];
    json["callee"] = owner["operands"][0];
  } else if (is_null(called) || kind(called) == CXCursor_VarDecl ||
             kind(called) == CXCursor_ParmDecl || kind(called) == CXCursor_FieldDecl) {
    json["callee"] = expression(parts.front());
  }
  return json;
}

}  // namespace cuco::analysis
