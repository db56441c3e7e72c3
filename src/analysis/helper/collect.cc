// SPDX-License-Identifier: Apache-2.0
#include "analysis/helper/collect.h"

#include <algorithm>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "analysis/helper/tree.h"

namespace cuco::analysis {
namespace {
using Json = nlohmann::json;

/// Collects one function's facts.
class FunctionWalk {
 public:
  FunctionWalk(CXCursor function, std::string_view text) : text_(text) {
    json_["name"] = spelling(function);
    json_["kind"] = "host";
    json_["span"] = span(function);
    json_["parameters"] = Json::array();
    for (const auto key : {"variables", "calls", "stores", "returns"})
      json_[key] = Json::array();
    CXCursor body = clang_getNullCursor();
    for (const auto child : children(function)) {
      switch (kind(child)) {
        case CXCursor_CUDAGlobalAttr:
          json_["kind"] = "kernel";
          break;
        case CXCursor_CUDADeviceAttr:
          json_["kind"] = "device";
          break;
        case CXCursor_ParmDecl:
          json_["parameters"].push_back(variable(child));
          break;
        case CXCursor_CompoundStmt:
          body = child;
          break;
        default:
          break;
      }
    }
    json_["body"] = span(body);
    for (const auto statement : children(body)) {
      outermost_ = statement;
      visit(statement, statement);
    }
    json_["reads"] = reads_;
  }

  Json take() { return std::move(json_); }

 private:
  std::string source(CXCursor cursor) const {
    const auto begin = begin_of(cursor).offset;
    const auto end = end_of(cursor).offset;
    if (begin >= end || end > text_.size()) return "";
    return std::string(text_.substr(begin, end - begin));
  }

  static Json span(CXCursor cursor) {
    const auto begin = begin_of(cursor);
    const auto end = end_of(cursor);
    return {begin.offset, end.offset, begin.line, end.line};
  }

  /// The statement with its semicolon, if it has one.
  Json statement_span(CXCursor statement) const {
    auto json = span(statement);
    const auto end = json[1].get<std::size_t>();
    const auto next = text_.find_first_not_of(" \t\n", end);
    if (next != std::string_view::npos && text_[next] == ';') json[1] = next + 1;
    return json;
  }

  static Json variable(CXCursor declaration) {
    return {{"id", variable_id(declaration)},
            {"name", spelling(declaration)},
            {"type", to_string(clang_getTypeSpelling(clang_getCursorType(declaration)))},
            {"span", span(declaration)}};
  }

  /// `statement` is the innermost statement around `cursor` that stands for itself.
  void visit(CXCursor cursor, CXCursor statement) {
    const auto what = kind(cursor);
    switch (what) {
      case CXCursor_VarDecl:
        add_variable(cursor);
        break;
      case CXCursor_CallExpr:
        if (add_launch(cursor, statement) || add_class_assignment(cursor, statement)) return;
        add_call(cursor, statement);
        break;
      case CXCursor_ReturnStmt:
        json_["returns"].push_back(statement_span(cursor));
        break;
      case CXCursor_BinaryOperator:
      case CXCursor_CompoundAssignOperator:
        if (add_assignment(cursor, statement)) return;
        break;
      case CXCursor_ArraySubscriptExpr:
        add_read(cursor);
        break;
      case CXCursor_UnaryOperator:
        if (clang_getCursorUnaryOperatorKind(cursor) == CXUnaryOperator_Deref) add_read(cursor);
        break;
      default:
        break;
    }
    // Each child of these is a statement of its own, not a part of the one around it.
    const bool opens_statements = what == CXCursor_CompoundStmt || what == CXCursor_IfStmt ||
                                  what == CXCursor_ForStmt || what == CXCursor_WhileStmt ||
                                  what == CXCursor_DoStmt || what == CXCursor_CXXForRangeStmt;
    for (const auto child : children(cursor))
      visit(child, opens_statements ? child : statement);
  }

  void add_read(CXCursor expression) {
    if (const auto root = root_of(expression); !root.empty()) reads_.insert(root);
  }

  void add_variable(CXCursor declaration) {
    auto json = variable(declaration);
    for (const auto child : children(declaration)) {
      if (clang_isExpression(kind(child)) != 0) json["root"] = root_of(child);
    }
    json_["variables"].push_back(std::move(json));
  }

  /// True when its children were visited here.
  bool add_assignment(CXCursor cursor, CXCursor statement) {
    const auto operation = clang_getCursorBinaryOperatorKind(cursor);
    const bool assigns =
        operation >= CXBinaryOperator_Assign && operation <= CXBinaryOperator_OrAssign;
    const auto sides = children(cursor);
    if (!assigns || sides.size() != 2) return false;
    const auto root = root_of(sides[0]);
    if (goes_through_pointer(sides[0]) && !root.empty()) {
      add_store(root, statement, source(sides[0]));
      if (operation != CXBinaryOperator_Assign) reads_.insert(root);
    } else if (root.starts_with("var:") && is_pointer_like(sides[0])) {
      // p = expression: one more thing that p may point into.
      json_["variables"].push_back({{"id", root.substr(4)},
                                    {"name", spelling(stripped(sides[0]))},
                                    {"type", ""},
                                    {"root", root_of(sides[1])},
                                    {"span", span(sides[0])}});
    }
    // The left side's own address arithmetic reads nothing through the root.
    visit(sides[1], statement);
    return true;
  }

  /// *p = v where v is of class type (float4, …): a call of its operator=.
  bool add_class_assignment(CXCursor call, CXCursor statement) {
    if (spelling(call) != "operator=" || clang_Cursor_getNumArguments(call) != 2) return false;
    const auto target = clang_Cursor_getArgument(call, 0);
    const auto root = root_of(target);
    if (goes_through_pointer(target) && !root.empty()) {
      add_store(root, statement, source(target));
    }
    visit(clang_Cursor_getArgument(call, 1), statement);
    return true;
  }

  /// Direct means that the target names the parameter itself, so that a rewrite can replace it.
  void add_store(const std::string& root, CXCursor statement, const std::string& target) {
    const auto name = root.substr(4, root.find('@') - 4);
    const bool direct = root.starts_with("var:") && target.find(name) != std::string::npos;
    json_["stores"].push_back(
        {{"root", root}, {"direct", direct}, {"statement", statement_span(statement)}});
  }

  Json arguments_of(CXCursor call) const {
    auto list = Json::array();
    const int count = clang_Cursor_getNumArguments(call);
    for (int i = 0; i < count; ++i) {
      const auto argument = clang_Cursor_getArgument(call, static_cast<unsigned>(i));
      list.push_back({{"text", source(argument)}, {"root", root_of(argument)}});
    }
    return list;
  }

  static std::string callee_name(CXCursor call) {
    auto name = spelling(call);
    if (!name.empty()) return name;
    // In a template the callee may be an unresolved set of overloads.
    const auto parts = children(call);
    if (parts.empty()) return name;
    for (auto cursor = parts.front();;) {
      if (kind(cursor) == CXCursor_OverloadedDeclRef || kind(cursor) == CXCursor_DeclRefExpr) {
        return spelling(cursor);
      }
      const auto inner = children(cursor);
      if (inner.empty()) return name;
      cursor = inner.front();
    }
  }

  void add_call(CXCursor call, CXCursor statement) {
    const auto name = callee_name(call);
    if (name.empty() || name.starts_with("operator")) return;
    json_["calls"].push_back({{"callee", name},
                              {"arguments", arguments_of(call)},
                              {"span", span(call)},
                              {"statement", statement_span(statement)},
                              {"outermost", statement_span(outermost_)}});
    // A call may read and write through what it is given; constness says which.
    const auto function = clang_getCursorReferenced(call);
    const int count = clang_Cursor_getNumArguments(call);
    for (int i = 0; i < count; ++i) {
      const auto argument = clang_Cursor_getArgument(call, static_cast<unsigned>(i));
      const auto root = root_of(argument);
      if (root.empty() || !is_pointer_like(argument)) continue;
      reads_.insert(root);
      const auto type = clang_getCanonicalType(
          clang_getCursorType(clang_Cursor_getArgument(function, static_cast<unsigned>(i))));
      const bool constant = clang_isConstQualifiedType(clang_getPointeeType(type)) != 0;
      if (!constant) add_store(root, statement, source(argument));
    }
  }

  /// k<<<grid, block, shared, stream>>>(arguments): a call with a call of the configuration inside.
  bool add_launch(CXCursor call, CXCursor statement) {
    CXCursor configuration = clang_getNullCursor();
    for (const auto child : children(call)) {
      if (kind(child) != CXCursor_CallExpr) continue;
      const auto name = spelling(child);
      if (name == "cudaConfigureCall" || name == "__cudaPushCallConfiguration") {
        configuration = child;
      }
    }
    // In a template that depends on its arguments libclang shows no configuration; only the text
    // does.
    const bool dependent = clang_Cursor_isNull(configuration) != 0;
    if (dependent && source(call).find("<<<") == std::string::npos) return false;
    Json launch = Json::object();
    if (!dependent) {
      const auto parts = arguments_of(configuration);
      constexpr const char* kParts[] = {"grid", "block", "shared", "stream"};
      for (std::size_t i = 0; i < parts.size() && i < 4; ++i)
        launch[kParts[i]] = parts[i]["text"];
    }
    json_["calls"].push_back({{"callee", callee_name(call)},
                              {"arguments", arguments_of(call)},
                              {"launch", launch},
                              {"span", span(call)},
                              {"statement", statement_span(statement)},
                              {"outermost", statement_span(outermost_)}});
    return true;
  }

  std::string_view text_;
  CXCursor outermost_ = clang_getNullCursor();
  Json json_;
  std::set<std::string> reads_;
};

bool has_body(CXCursor function) {
  const auto parts = children(function);
  return std::any_of(parts.begin(), parts.end(),
                     [](CXCursor child) { return kind(child) == CXCursor_CompoundStmt; });
}

Json record_of(CXCursor record) {
  Json json{{"name", spelling(record)},
            {"span",
             {begin_of(record).offset, end_of(record).offset, begin_of(record).line,
              end_of(record).line}}};
  for (const auto child : children(record)) {
    if (kind(child) == CXCursor_FieldDecl) json["fields"].push_back(spelling(child));
  }
  return json;
}

void collect_records(CXCursor scope, Json& records) {
  for (const auto cursor : children(scope)) {
    if (clang_Location_isFromMainFile(clang_getCursorLocation(cursor)) == 0) continue;
    if (kind(cursor) == CXCursor_Namespace) collect_records(cursor, records);
    const bool record = kind(cursor) == CXCursor_StructDecl || kind(cursor) == CXCursor_ClassDecl;
    if (record && clang_isCursorDefinition(cursor) != 0) records.push_back(record_of(cursor));
  }
}

/// Only what the file itself defines: headers would add thousands.
void collect_functions(CXCursor scope, std::string_view text, Json& functions) {
  for (const auto cursor : children(scope)) {
    if (clang_Location_isFromMainFile(clang_getCursorLocation(cursor)) == 0) continue;
    switch (kind(cursor)) {
      case CXCursor_FunctionDecl:
      case CXCursor_FunctionTemplate:
      case CXCursor_CXXMethod:
        if (has_body(cursor)) functions.push_back(FunctionWalk(cursor, text).take());
        break;
      case CXCursor_Namespace:
      case CXCursor_LinkageSpec:
      case CXCursor_UnexposedDecl:
      case CXCursor_StructDecl:
      case CXCursor_ClassDecl:
        collect_functions(cursor, text, functions);
        break;
      default:
        break;
    }
  }
}

Json problems_of(CXTranslationUnit unit) {
  auto problems = Json::array();
  const unsigned count = clang_getNumDiagnostics(unit);
  for (unsigned i = 0; i < count; ++i) {
    const auto diagnostic = clang_getDiagnostic(unit, i);
    if (clang_getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error) {
      unsigned line = 0;
      clang_getExpansionLocation(clang_getDiagnosticLocation(diagnostic), nullptr, &line, nullptr,
                                 nullptr);
      problems.push_back(std::to_string(line) + ": " +
                         to_string(clang_getDiagnosticSpelling(diagnostic)));
    }
    clang_disposeDiagnostic(diagnostic);
  }
  return problems;
}

}  // namespace

Json collect(CXTranslationUnit unit, std::string_view text) {
  Json json{{"functions", Json::array()}, {"problems", problems_of(unit)}};
  collect_functions(clang_getTranslationUnitCursor(unit), text, json["functions"]);
  json["records"] = Json::array();
  collect_records(clang_getTranslationUnitCursor(unit), json["records"]);
  return json;
}

}  // namespace cuco::analysis
