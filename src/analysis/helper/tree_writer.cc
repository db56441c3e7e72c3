// SPDX-License-Identifier: Apache-2.0
#include "analysis/helper/tree_writer.h"

#include <string>

#include "analysis/helper/tree.h"

namespace cuco::analysis {
using Json = nlohmann::json;

namespace {
/// Not a member of a class template: those are written per instantiation.
bool is_concrete(CXCursor function) {
  return kind(clang_getCursorSemanticParent(function)) != CXCursor_ClassTemplate;
}
}  // namespace

TreeWriter::Json TreeWriter::write() {
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

void TreeWriter::collect(CXCursor scope) {
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

void TreeWriter::drain() {
  while (!pending_.empty()) {
    const auto [id, cursor] = pending_.front();
    pending_.pop_front();
    functions_[id] = function(cursor);
  }
}

Json TreeWriter::problems() {
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

}  // namespace cuco::analysis
