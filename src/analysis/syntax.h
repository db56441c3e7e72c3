// SPDX-License-Identifier: Apache-2.0
/// \file
/// A CUDA source as a tree: what is left of the parser's when everything is gone that no conclusion
/// is drawn from. Written as JSON by the helper program cuco-analyse, which is the only code that
/// knows libclang. Templates appear per instantiation; functions of system headers have no body.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cuco::analysis {

/// Bytes [begin, end) of the file; lines from 1. What a macro's argument holds stands there, what a
/// macro's body writes stands where the macro is used.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  int line = 0;
  int end_line = 0;
  bool from_macro = false;  ///< The text there is the macro's use.
  bool elsewhere = false;   ///< In a header of the program: there are lines, but no bytes.
  bool operator==(const Span&) const = default;
};

enum class ExpressionKind {
  Literal,      ///< Also enumerators.
  Variable,     ///< `variable`.
  Function,     ///< `function`, or a name that has no body here.
  Member,       ///< `name` of operands[0].
  Index,        ///< operands[0][operands[1]].
  Unary,        ///< `name` is the operator.
  Binary,       ///< `name` is the operator.
  Assign,       ///< `name` is the operator; operands[0] is assigned.
  Conditional,  ///< Three operands.
  Call,         ///< Operands are the arguments; `callee` the object or the called value.
  Launch,       ///< The same with a `configuration`.
  Construct,    ///< Operands are the arguments.
  List,         ///< {a, b, c}.
  New,
  Lambda,  ///< `function`.
  This,
  Block,  ///< GNU's ({ … }).
  Other,  ///< Anything else, with what it is made of.
};

struct Statement;

struct Expression {
  ExpressionKind kind = ExpressionKind::Other;
  std::string text;  ///< As written.
  std::string type;  ///< Canonical, without const and references.
  std::string name;
  int variable = -1;
  int function = -1;
  int record = -1;           ///< Of a constructed object or a list.
  long long value = 0;       ///< Of an integer literal.
  bool arrow = false;        ///< Member or call through a pointer.
  bool lvalue = false;       ///< A call that returns a reference.
  std::vector<bool> writes;  ///< Per argument: the callee may write through it.
  Span span;
  std::vector<Expression> operands;
  std::vector<Expression> configuration;  ///< Grid, block, shared memory, stream.
  std::vector<Expression> callee;         ///< None or one.
  std::vector<Statement> block;           ///< None or one.
};

struct Declared {
  int variable = -1;
  std::optional<Expression> value;
};

enum class StatementKind { Block, Declare, Evaluate, If, Loop, Switch, Return, Jump, Asm };

struct Statement {
  StatementKind kind = StatementKind::Block;
  Span span;         ///< With its semicolon.
  std::string text;  ///< The condition, or a loop's header.
  std::vector<Declared> declared;
  std::optional<Expression> value;  ///< What is evaluated, returned, tested or ranged over.
  int each = -1;                    ///< The variable of a range-for.
  std::vector<Expression> operands;
  std::vector<Statement> header;      ///< Before the condition of an if, or a loop's header.
  std::vector<Statement> statements;  ///< Of a block; then and else; a loop's body.
};

struct Variable {
  std::string name;
  std::string type;       ///< As written.
  std::string canonical;  ///< Without const and references.
  bool reference = false;
  bool device = false;  ///< __device__ or __constant__.
  int record = -1;
  Span span;
};

enum class FunctionKind { Host, Device, Kernel };

struct MemberValue {
  std::string name;
  Expression value;
};

struct Function {
  std::string name;
  std::string arguments;  ///< Of its template: "<float, 3>".
  FunctionKind kind = FunctionKind::Host;
  Span span;
  std::vector<int> parameters;
  std::vector<MemberValue> members;  ///< What a constructor initialises.
  int record = -1;                   ///< Whose member it is.
  std::optional<Statement> body;
};

struct Field {
  std::string name;
  std::string type;
  int record = -1;
  std::optional<Expression> value;
  Span span;
};

/// A struct or class that the program defines.
struct Record {
  std::string name;
  std::vector<Field> fields;
  std::vector<int> bases;
  int destructor = -1;
  Span span;  ///< Up to the closing brace.
};

struct Syntax {
  std::vector<Function> functions;
  std::vector<Variable> variables;
  std::vector<Record> records;
  std::vector<Declared> globals;
  std::vector<std::string> problems;  ///< Errors of the parser, "line: message".
};

/// Refuses trees whose numbers lead nowhere.
[[nodiscard]] Result<Syntax> parse_syntax(std::string_view json);

}  // namespace cuco::analysis
