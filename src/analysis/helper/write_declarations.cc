// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "analysis/helper/tree.h"
#include "analysis/helper/tree_writer.h"

namespace cuco::analysis {
using Json = nlohmann::json;

namespace {
/// Of an implicit instantiation libclang shows no members; its template has them.
std::vector<CXCursor> members_of(CXCursor record) {
  const auto own = children(record);
  const auto pattern = clang_getSpecializedCursorTemplate(record);
  const bool shown = std::any_of(own.begin(), own.end(), [](CXCursor child) {
    return kind(child) == CXCursor_FieldDecl || kind(child) == CXCursor_Constructor ||
           kind(child) == CXCursor_CXXMethod;
  });
  return shown || is_null(pattern) ? own : children(pattern);
}

std::string template_arguments(CXCursor function) {
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
}  // namespace

int TreeWriter::variable_id(CXCursor declared) {
  const auto cursor = clang_getCanonicalCursor(declared);
  const auto [known, added] = variable_ids_.try_emplace(cursor.data[0], variables_.size());
  if (added) {
    const auto type = clang_getCursorType(cursor);
    Json json{{"name", spelling(cursor)},
              {"type", to_string(clang_getTypeSpelling(type))},
              {"canonical", type_name(type)},
              {"reference", is_reference(type)},
              {"span", source_.span(cursor)}};
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

Json TreeWriter::declaration(CXCursor cursor) {
  Json json{{"variable", variable_id(cursor)}};
  const auto value = clang_Cursor_getVarDeclInitializer(cursor);
  if (!is_null(value)) json["value"] = expression(value);
  return json;
}

int TreeWriter::record_of(CXType type) {
  type = clang_getCanonicalType(type);
  while (type.kind == CXType_ConstantArray || type.kind == CXType_LValueReference) {
    type =
        clang_getCanonicalType(type.kind == CXType_ConstantArray ? clang_getArrayElementType(type)
                                                                 : clang_getPointeeType(type));
  }
  if (type.kind != CXType_Record) return -1;
  return record_id(clang_getTypeDeclaration(type));
}

int TreeWriter::record_id(CXCursor declared) {
  const auto cursor = clang_getCursorDefinition(declared);
  if (is_null(cursor) || is_foreign(cursor)) return -1;
  const auto [known, added] = record_ids_.try_emplace(cursor.data[0], records_.size());
  const auto id = known->second;
  if (!added) return static_cast<int>(id);
  records_.push_back(Json{{"name", spelling(cursor)}, {"span", source_.span(cursor)}});
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
               {"span", source_.span(child)}};
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

int TreeWriter::function_id(CXCursor called) {
  auto cursor = clang_getCursorDefinition(called);
  if (is_null(cursor) || is_foreign(cursor)) return -1;
  const auto [known, added] = function_ids_.try_emplace(cursor.data[0], functions_.size());
  if (added) {
    const auto pattern = clang_getSpecializedCursorTemplate(cursor);
    if (!is_null(pattern)) instantiated_.insert(pattern.data[0]);
    functions_.push_back(Json::object());
    pending_.emplace_back(known->second, cursor);
  }
  return static_cast<int>(known->second);
}

Json TreeWriter::function(CXCursor cursor) {
  Json json{{"name", spelling(cursor)},
            {"arguments", template_arguments(cursor)},
            {"span", source_.span(cursor)},
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

int TreeWriter::lambda_id(CXCursor cursor) {
  const auto id = functions_.size();
  functions_.push_back(Json::object());
  Json json{{"name", "lambda"},
            {"kind", "host"},
            {"span", source_.span(cursor)},
            {"parameters", Json::array()}};
  for (const auto child : children(cursor)) {
    if (kind(child) == CXCursor_ParmDecl) json["parameters"].push_back(variable_id(child));
    if (kind(child) == CXCursor_CompoundStmt) json["body"] = statement(child);
  }
  functions_[id] = std::move(json);
  return static_cast<int>(id);
}

}  // namespace cuco::analysis
