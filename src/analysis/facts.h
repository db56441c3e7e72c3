// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the parser saw, function by function, before anything is concluded from it. Written as JSON
/// by the helper program cuco-analyse, which is the only code that knows libclang.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cuco::analysis {

/// Bytes [begin, end) of the file; lines from 1.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  int line = 0;
  int end_line = 0;
  bool operator==(const Span&) const = default;
};

/// The storage an expression points into, as far as it can be followed through casts, offsets and
/// subscripts: "var:ID" for a variable, "field:TYPE::NAME" for a member, empty when unknown.
using Root = std::string;

struct Expression {
  std::string text;
  Root root;
};

struct Variable {
  std::string id;  ///< Unique in the file.
  std::string name;
  std::string type;
  Root root;  ///< Of the initialiser; empty for parameters.
  Span span;
};

struct LaunchConfiguration {
  std::string grid;
  std::string block;
  std::string shared;
  std::string stream;
};

struct Call {
  std::string callee;
  std::vector<Expression> arguments;
  std::optional<LaunchConfiguration> launch;  ///< Set when this is a kernel launch.
  Span span;
  Span statement;  ///< The whole statement it stands in, with its semicolon.
  Span outermost;  ///< The statement of the function's own block around it.
};

/// A write through a pointer.
struct Store {
  Root root;
  bool direct =
      false;  ///< The root variable is named in the statement itself, not through an alias.
  Span statement;
};

enum class FunctionKind { Host, Device, Kernel };

struct Function {
  std::string name;
  FunctionKind kind = FunctionKind::Host;
  Span span;
  Span body;
  std::vector<Span> returns;  ///< Its return statements.
  std::vector<Variable> parameters;
  std::vector<Variable> variables;
  std::vector<Call> calls;
  std::vector<Store> stores;
  std::vector<Root> reads;  ///< Roots that are read through.
};

/// A struct or class defined in the file.
struct Record {
  std::string name;
  std::vector<std::string> fields;
  Span span;  ///< Up to the closing brace.
};

struct Facts {
  std::vector<Function> functions;
  std::vector<Record> records;
  std::vector<std::string> problems;  ///< Errors of the parser, "line: message".
};

[[nodiscard]] Result<Facts> parse_facts(std::string_view json);

}  // namespace cuco::analysis
