// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analysis/helper/tree.h"
#include "analysis/helper/tree_writer.h"

namespace cuco::analysis {
using Json = nlohmann::json;

Json TreeWriter::statement(CXCursor cursor) {
  const auto parts = children(cursor);
  Json json{{"span", source_.statement_span(cursor)}};
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

Json TreeWriter::block(Json json, const std::vector<CXCursor>& parts) {
  json["kind"] = "block";
  json["statements"] = Json::array();
  for (const auto part : parts) {
    if (is_expression(part) || clang_isStatement(kind(part)) != 0) {
      json["statements"].push_back(statement(part));
    }
  }
  return json;
}

Json TreeWriter::branch(Json json, const std::vector<CXCursor>& parts) {
  json["kind"] = "if";
  json["statements"] = Json::array();
  std::size_t at = 0;
  for (; at < parts.size() && !is_expression(parts[at]); ++at) {
    if (kind(parts[at]) == CXCursor_DeclStmt) json["first"] = statement(parts[at]);
    if (kind(parts[at]) == CXCursor_VarDecl) {
      json["first"] = {{"kind", "declare"},
                       {"span", source_.span(parts[at])},
                       {"declared", Json::array({declaration(parts[at])})}};
    }
  }
  if (at < parts.size()) {
    json["condition"] = expression(parts[at]);
    json["text"] = source_.text_of(parts[at]);
    ++at;
  }
  for (; at < parts.size(); ++at)
    json["statements"].push_back(statement(parts[at]));
  return json;
}

Json TreeWriter::loop(Json json, CXCursor cursor, std::vector<CXCursor> parts) {
  json["kind"] = "loop";
  json["text"] = source_.header_of(cursor);
  json["statements"] = Json::array();
  if (parts.empty()) return json;
  if (kind(cursor) == CXCursor_DoStmt) std::rotate(parts.begin(), parts.begin() + 1, parts.end());
  for (std::size_t i = 0; i + 1 < parts.size(); ++i)
    json["header"].push_back(statement(parts[i]));
  json["statements"].push_back(statement(parts.back()));
  return json;
}

Json TreeWriter::range_loop(Json json, CXCursor cursor, const std::vector<CXCursor>& parts) {
  json["kind"] = "loop";
  json["text"] = source_.header_of(cursor);
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

}  // namespace cuco::analysis
