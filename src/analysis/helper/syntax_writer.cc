// SPDX-License-Identifier: Apache-2.0
// Functions are found by being used: what the file defines itself, then whatever its calls lead to
// outside system headers. A template appears once per instantiation, with its types filled in.
#include "analysis/helper/syntax_writer.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "analysis/helper/tree.h"

namespace cuco::analysis {
namespace {
using Json = nlohmann::json;

class Writer {
 public:
  Writer(CXTranslationUnit unit, std::string_view text) : unit_(unit), text_(text) {
    main_file_ = clang_getFile(unit, to_string(clang_getTranslationUnitSpelling(unit)).c_str());
  }

  Json write() {
    collect(clang_getTranslationUnitCursor(unit_));
    drain();
    // A template that nothing instantiates is still worth a look, types missing.
    for (const auto pattern : patterns_) {
      if (!instantiated_.contains(pattern.data[0])) function_id(pattern);
    }
    drain();
    return {{"functions", functions_},
            {"variables", variables_},
            {"records", records_},
            {"globals", globals_},
            {"problems", problems()}};
  }

 private:
  // --- What there is -----------------------------------------------------------------------------

  void collect(CXCursor scope) {
    for (const auto cursor : children(scope)) {
      if (is_foreign(cursor)) continue;
      switch (kind(cursor)) {
        case CXCursor_FunctionDecl:
        case CXCursor_CXXMethod:
        case CXCursor_Constructor:
        case CXCursor_Destructor:
          if (has_body(cursor) && is_concrete(cursor)) function_id(cursor);
          break;
        case CXCursor_FunctionTemplate:
          if (has_body(cursor)) patterns_.push_back(cursor);
          break;
        case CXCursor_VarDecl:
          globals_.push_back(declaration(cursor));
          break;
        case CXCursor_StructDecl:
        case CXCursor_ClassDecl:
          record_id(cursor);
          collect(cursor);
          break;
        case CXCursor_Namespace:
        case CXCursor_LinkageSpec:
        case CXCursor_UnexposedDecl:
          collect(cursor);
          break;
        default:
          break;
      }
    }
  }

  void drain() {
    while (!pending_.empty()) {
      const auto [id, cursor] = pending_.front();
      pending_.pop_front();
      functions_[id] = function(cursor);
    }
  }

  static bool has_body(CXCursor function) {
    const auto parts = children(function);
    return std::any_of(parts.begin(), parts.end(), [](CXCursor child) {
      return kind(child) == CXCursor_CompoundStmt || kind(child) == CXCursor_CXXTryStmt;
    });
  }

  /// Not a member of a class template: those are written per instantiation.
  static bool is_concrete(CXCursor function) {
    return kind(clang_getCursorSemanticParent(function)) != CXCursor_ClassTemplate;
  }

  Json problems() {
    auto found = Json::array();
    const unsigned count = clang_getNumDiagnostics(unit_);
    for (unsigned i = 0; i < count; ++i) {
      const auto diagnostic = clang_getDiagnostic(unit_, i);
      if (clang_getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error) {
        unsigned line = 0;
        clang_getExpansionLocation(clang_getDiagnosticLocation(diagnostic), nullptr, &line, nullptr,
                                   nullptr);
        found.push_back(std::to_string(line) + ": " +
                        to_string(clang_getDiagnosticSpelling(diagnostic)));
      }
      clang_disposeDiagnostic(diagnostic);
    }
    return found;
  }

  // --- Text
  // ----------------------------------------------------------------------------------------

  bool in_main(const Extent& at) const { return clang_File_isEqual(at.file, main_file_) != 0; }

  /// The use of a macro, with its arguments.
  unsigned end_of_use(unsigned begin) const {
    auto at = static_cast<std::size_t>(begin);
    while (at < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at])) != 0 || text_[at] == '_')) {
      ++at;
    }
    const auto open = text_.find_first_not_of(" \t\n", at);
    if (open == std::string_view::npos || text_[open] != '(') return static_cast<unsigned>(at);
    int depth = 0;
    for (auto i = open; i < text_.size(); ++i) {
      if (text_[i] == '(') ++depth;
      if (text_[i] == ')' && --depth == 0) return static_cast<unsigned>(i + 1);
    }
    return static_cast<unsigned>(at);
  }

  /// Up to the comma or parenthesis that ends the argument of a macro.
  unsigned end_of_argument(unsigned begin) const {
    int depth = 0;
    char quote = 0;
    for (auto i = static_cast<std::size_t>(begin); i < text_.size(); ++i) {
      const char c = text_[i];
      if (quote != 0) {
        if (c == '\\') ++i;
        if (c == quote) quote = 0;
        continue;
      }
      if (c == '"' || c == '\'') quote = c;
      const bool ends = c == ',' || c == ')';
      if (ends && depth == 0) {
        const auto last = text_.find_last_not_of(" \t\n", i - 1);
        return static_cast<unsigned>(last + 1);
      }
      if (c == '(' || c == '{' || c == '[') ++depth;
      if (c == ')' || c == '}' || c == ']') --depth;
    }
    return begin;
  }

  Extent found(CXCursor cursor) const {
    auto at = extent(cursor);
    if (!in_main(at)) return at;
    if (at.from_macro) {
      at.end = std::max(at.end, end_of_use(at.begin));
    } else if (in_macro_argument(cursor)) {
      const auto last = end_of_argument(at.begin);
      if (at.end < at.begin || at.end > last) at.end = last;
    }
    at.end_line = at.line + static_cast<unsigned>(
                                std::count(text_.begin() + at.begin, text_.begin() + at.end, '\n'));
    return at;
  }

  static Json json_of(const Extent& at, bool main) {
    if (!main) return {0, 0, at.line, at.end_line, 2};
    return {at.begin, at.end, at.line, at.end_line, at.from_macro ? 1 : 0};
  }

  Json span(CXCursor cursor) const {
    const auto at = found(cursor);
    return json_of(at, in_main(at));
  }

  /// With its semicolon, if it has one.
  Json statement_span(CXCursor statement) const {
    auto at = found(statement);
    if (!in_main(at)) return json_of(at, false);
    const auto next = text_.find_first_not_of(" \t\n", at.end);
    if (next != std::string_view::npos && text_[next] == ';')
      at.end = static_cast<unsigned>(next) + 1;
    return json_of(at, true);
  }

  std::string source(CXCursor cursor) const {
    const auto at = found(cursor);
    if (!in_main(at) || at.begin >= at.end || at.end > text_.size()) {
      return at.from_macro ? "" : spelling(cursor);
    }
    return std::string(text_.substr(at.begin, at.end - at.begin));
  }

  // --- Declarations
  // --------------------------------------------------------------------------------

  int variable_id(CXCursor declared) {
    const auto cursor = clang_getCanonicalCursor(declared);
    const auto [known, added] = variable_ids_.try_emplace(cursor.data[0], variables_.size());
    if (added) {
      const auto type = clang_getCursorType(cursor);
      Json json{{"name", spelling(cursor)},
                {"type", to_string(clang_getTypeSpelling(type))},
                {"canonical", type_name(type)},
                {"reference", is_reference(type)},
                {"span", span(cursor)}};
      const auto slot = known->second;
      for (const auto child : children(cursor)) {
        const auto what = kind(child);
        if (what == CXCursor_CUDADeviceAttr || what == CXCursor_CUDAConstantAttr) {
          json["device"] = true;
        }
      }
      variables_.push_back(std::move(json));
      if (const int record = record_of(type); record >= 0) variables_[slot]["record"] = record;
    }
    return static_cast<int>(known->second);
  }

  static bool is_reference(CXType type) {
    type = clang_getCanonicalType(type);
    return type.kind == CXType_LValueReference || type.kind == CXType_RValueReference;
  }

  /// A variable with its initial value.
  Json declaration(CXCursor cursor) {
    Json json{{"variable", variable_id(cursor)}};
    const auto value = clang_Cursor_getVarDeclInitializer(cursor);
    if (!is_null(value)) json["value"] = expression(value);
    return json;
  }

  int record_of(CXType type) {
    type = clang_getCanonicalType(type);
    while (type.kind == CXType_ConstantArray || type.kind == CXType_LValueReference) {
      type =
          clang_getCanonicalType(type.kind == CXType_ConstantArray ? clang_getArrayElementType(type)
                                                                   : clang_getPointeeType(type));
    }
    if (type.kind != CXType_Record) return -1;
    return record_id(clang_getTypeDeclaration(type));
  }

  /// Of an implicit instantiation libclang shows no members; its template has them.
  static std::vector<CXCursor> members_of(CXCursor record) {
    const auto own = children(record);
    const auto pattern = clang_getSpecializedCursorTemplate(record);
    const bool shown = std::any_of(own.begin(), own.end(), [](CXCursor child) {
      return kind(child) == CXCursor_FieldDecl || kind(child) == CXCursor_Constructor ||
             kind(child) == CXCursor_CXXMethod;
    });
    return shown || is_null(pattern) ? own : children(pattern);
  }

  int record_id(CXCursor declared) {
    const auto cursor = clang_getCursorDefinition(declared);
    if (is_null(cursor) || is_foreign(cursor)) return -1;
    const auto [known, added] = record_ids_.try_emplace(cursor.data[0], records_.size());
    const auto id = known->second;
    if (!added) return static_cast<int>(id);
    records_.push_back(Json{{"name", spelling(cursor)}, {"span", span(cursor)}});
    auto fields = Json::array();
    for (const auto child : members_of(cursor)) {
      if (kind(child) == CXCursor_CXXBaseSpecifier) {
        const int base = record_of(clang_getCursorType(child));
        if (base >= 0) records_[id]["bases"].push_back(base);
      }
      if (kind(child) == CXCursor_Destructor && has_body(child)) {
        records_[id]["destructor"] = function_id(child);
      }
      if (kind(child) != CXCursor_FieldDecl) continue;
      Json field{{"name", spelling(child)},
                 {"type", type_name(clang_getCursorType(child))},
                 {"span", span(child)}};
      for (const auto part : children(child)) {
        const bool size = clang_getCursorType(child).kind == CXType_ConstantArray;
        if (is_expression(part) && !size) field["value"] = expression(part);
      }
      if (const int inner = record_of(clang_getCursorType(child)); inner >= 0) {
        field["record"] = inner;
      }
      fields.push_back(std::move(field));
    }
    records_[id]["fields"] = std::move(fields);
    return static_cast<int>(id);
  }

  /// -1 for what has no body here.
  int function_id(CXCursor called) {
    auto cursor = clang_getCursorDefinition(called);
    if (is_null(cursor) || is_foreign(cursor)) return -1;
    const auto [known, added] = function_ids_.try_emplace(cursor.data[0], functions_.size());
    if (added) {
      const auto pattern = clang_getSpecializedCursorTemplate(cursor);
      if (!is_null(pattern)) instantiated_.emplace(pattern.data[0], true);
      functions_.push_back(Json::object());
      pending_.emplace_back(known->second, cursor);
    }
    return static_cast<int>(known->second);
  }

  static std::string template_arguments(CXCursor function) {
    const int count = clang_Cursor_getNumTemplateArguments(function);
    std::vector<CXCursor> parameters;
    for (const auto child : children(clang_getSpecializedCursorTemplate(function))) {
      const bool parameter = kind(child) == CXCursor_TemplateTypeParameter ||
                             kind(child) == CXCursor_NonTypeTemplateParameter;
      if (parameter) parameters.push_back(child);
    }
    std::string text;
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<unsigned>(i);
      const auto what = clang_Cursor_getTemplateArgumentKind(function, at);
      if (i > 0) text += ", ";
      if (what == CXTemplateArgumentKind_Type) {
        const auto type = clang_Cursor_getTemplateArgumentType(function, at);
        text += to_string(clang_getTypeSpelling(type));
        continue;
      }
      const auto value = clang_Cursor_getTemplateArgumentValue(function, at);
      const bool logical =
          at < parameters.size() && clang_getCursorType(parameters[at]).kind == CXType_Bool;
      text += logical ? (value != 0 ? "true" : "false") : std::to_string(value);
    }
    return count > 0 ? "<" + text + ">" : "";
  }

  Json function(CXCursor cursor) {
    Json json{{"name", spelling(cursor)},
              {"arguments", template_arguments(cursor)},
              {"span", span(cursor)},
              {"parameters", Json::array()}};
    bool host = false;
    bool device = false;
    std::string field;
    for (const auto child : children(cursor)) {
      switch (kind(child)) {
        case CXCursor_CUDAGlobalAttr:
          json["kind"] = "kernel";
          break;
        case CXCursor_CUDADeviceAttr:
          device = true;
          break;
        case CXCursor_CUDAHostAttr:
          host = true;
          break;
        case CXCursor_ParmDecl:
          json["parameters"].push_back(variable_id(child));
          break;
        case CXCursor_MemberRef:
          field = spelling(child);
          break;
        case CXCursor_CompoundStmt:
        case CXCursor_CXXTryStmt:
          json["body"] = statement(child);
          break;
        default:
          // In a constructor: a member's name, then its value.
          if (is_expression(child) && !field.empty()) {
            json["members"].push_back({{"name", field}, {"value", expression(child)}});
            field.clear();
          }
          break;
      }
    }
    if (!json.contains("kind")) json["kind"] = device && !host ? "device" : "host";
    const auto what = kind(cursor);
    const bool member =
        what == CXCursor_CXXMethod || what == CXCursor_Constructor || what == CXCursor_Destructor;
    if (member && clang_CXXMethod_isStatic(cursor) == 0) {
      json["record"] = record_id(clang_getCursorSemanticParent(cursor));
    }
    return json;
  }

  int lambda_id(CXCursor cursor) {
    const auto id = functions_.size();
    functions_.push_back(Json::object());
    Json json{{"name", "lambda"},
              {"kind", "host"},
              {"span", span(cursor)},
              {"parameters", Json::array()}};
    for (const auto child : children(cursor)) {
      if (kind(child) == CXCursor_ParmDecl) json["parameters"].push_back(variable_id(child));
      if (kind(child) == CXCursor_CompoundStmt) json["body"] = statement(child);
    }
    functions_[id] = std::move(json);
    return static_cast<int>(id);
  }

  // --- Statements
  // ----------------------------------------------------------------------------------

  Json statement(CXCursor cursor) {
    const auto parts = children(cursor);
    Json json{{"span", statement_span(cursor)}};
    switch (kind(cursor)) {
      case CXCursor_CompoundStmt:
        return block(std::move(json), parts);
      case CXCursor_DeclStmt:
        json["kind"] = "declare";
        for (const auto part : parts) {
          if (kind(part) == CXCursor_VarDecl) json["declared"].push_back(declaration(part));
        }
        return json;
      case CXCursor_IfStmt:
        return branch(std::move(json), parts);
      case CXCursor_ForStmt:
      case CXCursor_WhileStmt:
      case CXCursor_DoStmt:
        return loop(std::move(json), cursor, parts);
      case CXCursor_CXXForRangeStmt:
        return range_loop(std::move(json), cursor, parts);
      case CXCursor_SwitchStmt:
        json["kind"] = "switch";
        if (!parts.empty()) json["condition"] = expression(parts.front());
        if (parts.size() > 1) json["statements"] = Json::array({statement(parts.back())});
        return json;
      case CXCursor_CaseStmt:
      case CXCursor_DefaultStmt:
      case CXCursor_LabelStmt:
        return parts.empty() ? block(std::move(json), {}) : statement(parts.back());
      case CXCursor_ReturnStmt:
        json["kind"] = "return";
        if (!parts.empty()) json["value"] = expression(parts.front());
        return json;
      case CXCursor_BreakStmt:
      case CXCursor_ContinueStmt:
      case CXCursor_GotoStmt:
        json["kind"] = "jump";
        return json;
      case CXCursor_GCCAsmStmt:
      case CXCursor_MSAsmStmt:
        json["kind"] = "asm";
        for (const auto part : parts)
          json["operands"].push_back(expression(part));
        return json;
      default:
        break;
    }
    if (!is_expression(cursor)) return block(std::move(json), parts);
    json["kind"] = "evaluate";
    json["value"] = expression(cursor);
    return json;
  }

  Json block(Json json, const std::vector<CXCursor>& parts) {
    json["kind"] = "block";
    json["statements"] = Json::array();
    for (const auto part : parts) {
      if (is_expression(part) || clang_isStatement(kind(part)) != 0) {
        json["statements"].push_back(statement(part));
      }
    }
    return json;
  }

  /// [a declaration], the condition, then, [else].
  Json branch(Json json, const std::vector<CXCursor>& parts) {
    json["kind"] = "if";
    json["statements"] = Json::array();
    std::size_t at = 0;
    for (; at < parts.size() && !is_expression(parts[at]); ++at) {
      if (kind(parts[at]) == CXCursor_DeclStmt) json["first"] = statement(parts[at]);
      if (kind(parts[at]) == CXCursor_VarDecl) {
        json["first"] = {{"kind", "declare"},
                         {"span", span(parts[at])},
                         {"declared", Json::array({declaration(parts[at])})}};
      }
    }
    if (at < parts.size()) {
      json["condition"] = expression(parts[at]);
      json["text"] = source(parts[at]);
      ++at;
    }
    for (; at < parts.size(); ++at)
      json["statements"].push_back(statement(parts[at]));
    return json;
  }

  /// The parts of the header that are there, then the body; of "do" the body comes first.
  Json loop(Json json, CXCursor cursor, std::vector<CXCursor> parts) {
    json["kind"] = "loop";
    json["text"] = header_of(cursor);
    json["statements"] = Json::array();
    if (parts.empty()) return json;
    if (kind(cursor) == CXCursor_DoStmt) std::rotate(parts.begin(), parts.begin() + 1, parts.end());
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
      json["header"].push_back(statement(parts[i]));
    json["statements"].push_back(statement(parts.back()));
    return json;
  }

  Json range_loop(Json json, CXCursor cursor, const std::vector<CXCursor>& parts) {
    json["kind"] = "loop";
    json["text"] = header_of(cursor);
    json["statements"] = Json::array();
    for (const auto part : parts) {
      if (kind(part) == CXCursor_VarDecl) {
        json["each"] = variable_id(part);
      } else if (is_expression(part) && !json.contains("range")) {
        json["range"] = expression(part);
      }
    }
    if (!parts.empty()) json["statements"].push_back(statement(parts.back()));
    return json;
  }

  /// "int i = 0; i < n; ++i" of a loop.
  std::string header_of(CXCursor cursor) const {
    const auto text = source(cursor);
    const auto open = text.find('(');
    if (open == std::string::npos || text.starts_with("do")) return "";
    int depth = 0;
    for (auto i = open; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')' && --depth == 0) return text.substr(open + 1, i - open - 1);
    }
    return "";
  }

  // --- Expressions
  // ---------------------------------------------------------------------------------

  Json expression(CXCursor written) {
    const auto cursor = stripped(written);
    const auto parts = children(cursor);
    // Parentheses of a macro's body around its argument hide where that stands.
    const auto shown = extent(written).from_macro ? cursor : written;
    Json json{{"span", span(shown)}, {"text", source(shown)}};
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

  Json name(Json json, CXCursor cursor) {
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

  static long long integer_value(CXCursor cursor) {
    const auto result = clang_Cursor_Evaluate(cursor);
    if (result == nullptr) return 0;
    const bool integer = clang_EvalResult_getKind(result) == CXEval_Int;
    const auto value = integer ? clang_EvalResult_getAsLongLong(result) : 0;
    clang_EvalResult_dispose(result);
    return value;
  }

  /// threadIdx.x is a property, for which libclang has no name: the text has it, be it a macro's.
  std::string member_name(CXCursor cursor) const {
    auto name = spelling(cursor);
    if (!name.empty()) return name;
    CXFile file = nullptr;
    unsigned offset = 0;
    clang_getSpellingLocation(clang_getRangeStart(clang_getCursorExtent(cursor)), &file, nullptr,
                              nullptr, &offset);
    if (clang_File_isEqual(file, main_file_) == 0) return name;
    const auto dot = text_.find('.', offset);
    if (dot == std::string_view::npos) return name;
    for (auto at = text_.find_first_not_of(" \t\n", dot + 1);
         at < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at])) != 0; ++at) {
      name += text_[at];
    }
    return name;
  }

  Json member(Json json, CXCursor cursor, const std::vector<CXCursor>& parts) {
    json["kind"] = "member";
    json["name"] = member_name(cursor);
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

  static bool is_pointer(CXType type) {
    return clang_getCanonicalType(type).kind == CXType_Pointer;
  }

  static std::string unary_operator(CXCursor cursor) {
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

  Json arguments_of(CXCursor call) {
    auto list = Json::array();
    const int count = clang_Cursor_getNumArguments(call);
    for (int i = 0; i < count; ++i)
      list.push_back(expression(clang_Cursor_getArgument(call, static_cast<unsigned>(i))));
    return list;
  }

  Json call(Json json, CXCursor cursor, const std::vector<CXCursor>& parts) {
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

  /// Which arguments the callee may write through.
  static void add_mutability(Json& json, CXCursor called) {
    if (is_null(called)) return;
    const auto type = clang_getCursorType(called);
    const int count = clang_getNumArgTypes(type);
    const bool operator_member = kind(called) == CXCursor_CXXMethod &&
                                 json["name"].get<std::string>().starts_with("operator");
    auto flags = Json::array();
    if (operator_member) flags.push_back(clang_CXXMethod_isConst(called) == 0);
    for (int i = 0; i < count; ++i)
      flags.push_back(allows_writing(clang_getArgType(type, static_cast<unsigned>(i))));
    json["writable"] = std::move(flags);
  }

  static std::string callee_name(CXCursor call, const std::vector<CXCursor>& parts) {
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

  CXTranslationUnit unit_;
  std::string_view text_;
  CXFile main_file_ = nullptr;
  Json functions_ = Json::array(), variables_ = Json::array(), records_ = Json::array(),
       globals_ = Json::array();
  std::map<const void*, std::size_t> function_ids_, variable_ids_, record_ids_;
  std::map<const void*, bool> instantiated_;
  std::vector<CXCursor> patterns_;
  std::deque<std::pair<std::size_t, CXCursor>> pending_;
};

}  // namespace

Json write_syntax(CXTranslationUnit unit, std::string_view text) {
  return Writer(unit, text).write();
}

}  // namespace cuco::analysis
