// SPDX-License-Identifier: Apache-2.0
/// \file
/// Cursors as JSON. Functions are found by being used: what the file defines itself, then whatever
/// its calls lead to outside system headers. A template appears once per instantiation, with its
/// types filled in. Each function, variable and record is written once and has a number.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <clang-c/Index.h>
#include <nlohmann/json.hpp>

#include "analysis/helper/source_text.h"

namespace cuco::analysis {

class TreeWriter {
 public:
  using Json = nlohmann::json;

  TreeWriter(CXTranslationUnit unit, std::string_view text) : unit_(unit), source_(unit, text) {}

  [[nodiscard]] Json write();

 private:
  void collect(CXCursor scope);
  void drain();
  Json problems();

  // Declarations.
  int variable_id(CXCursor declared);
  /// A variable with its initial value.
  Json declaration(CXCursor cursor);
  int record_of(CXType type);
  int record_id(CXCursor declared);
  /// -1 for what has no body here.
  int function_id(CXCursor called);
  Json function(CXCursor cursor);
  int lambda_id(CXCursor cursor);

  // Statements. Those that take JSON go on from what is written already.
  Json statement(CXCursor cursor);
  Json block(Json json, const std::vector<CXCursor>& parts);
  /// [a declaration], the condition, then, [else].
  Json branch(Json json, const std::vector<CXCursor>& parts);
  /// The parts of the header that are there, then the body; of "do" the body comes first.
  Json loop(Json json, CXCursor cursor, std::vector<CXCursor> parts);
  Json range_loop(Json json, CXCursor cursor, const std::vector<CXCursor>& parts);

  // Expressions.
  Json expression(CXCursor written);
  Json name(Json json, CXCursor cursor);
  Json member(Json json, CXCursor cursor, const std::vector<CXCursor>& parts);
  Json arguments_of(CXCursor call);
  Json call(Json json, CXCursor cursor, const std::vector<CXCursor>& parts);

  CXTranslationUnit unit_;
  SourceText source_;
  Json functions_ = Json::array(), variables_ = Json::array(), records_ = Json::array(),
       globals_ = Json::array();
  std::map<const void*, std::size_t> function_ids_, variable_ids_, record_ids_;
  std::set<const void*> instantiated_;  ///< Templates.
  std::vector<CXCursor> patterns_;
  std::deque<std::pair<std::size_t, CXCursor>> pending_;
};

}  // namespace cuco::analysis
