// SPDX-License-Identifier: Apache-2.0
#include "analysis/syntax_query.h"

#include <algorithm>

namespace cuco::analysis {
namespace {

class Visitor {
 public:
  explicit Visitor(const Function& function) {
    if (!function.body) return;
    for (const auto& statement : function.body->statements) {
      outermost_ = statement.span;
      visit(statement);
    }
  }

  std::vector<CallSite> calls;
  std::vector<Span> returns;
  std::vector<int> variables;

 private:
  void visit(const Statement& statement) {
    if (statement.kind != StatementKind::Block) statement_ = statement.span;
    if (statement.kind == StatementKind::Return) returns.push_back(statement.span);
    if (statement.each >= 0) variables.push_back(statement.each);
    for (const auto& part : statement.header)
      visit(part);
    statement_ = statement.span;
    for (const auto& declared : statement.declared) {
      variables.push_back(declared.variable);
      if (declared.value) visit(*declared.value);
    }
    if (statement.value) visit(*statement.value);
    for (const auto& operand : statement.operands)
      visit(operand);
    for (const auto& part : statement.statements)
      visit(part);
  }

  void visit(const Expression& expression) {
    const bool call = expression.kind == ExpressionKind::Call ||
                      expression.kind == ExpressionKind::Launch ||
                      expression.kind == ExpressionKind::Construct;
    if (call) calls.push_back({&expression, statement_, outermost_});
    for (const auto* list : {&expression.callee, &expression.configuration, &expression.operands}) {
      for (const auto& part : *list)
        visit(part);
    }
    for (const auto& statement : expression.block)
      visit(statement);
  }

  Span statement_, outermost_;
};

}  // namespace

std::vector<CallSite> calls_in(const Function& function) {
  return Visitor(function).calls;
}

std::vector<Span> returns_in(const Function& function) {
  return Visitor(function).returns;
}

std::vector<int> variables_in(const Function& function) {
  return Visitor(function).variables;
}

const Function* find_function(const Syntax& syntax, std::string_view name) {
  const auto found = std::ranges::find_if(syntax.functions, [&](const Function& function) {
    return function.name == name && function.body.has_value();
  });
  return found == syntax.functions.end() ? nullptr : &*found;
}

const Function* function_behind(const Syntax& syntax, std::string_view entry) {
  const Function* function = find_function(syntax, entry);
  if (function == nullptr) return nullptr;
  for (const auto& site : calls_in(*function)) {
    if (site.call->kind != ExpressionKind::Call || site.call->function < 0) continue;
    const auto& called = syntax.functions[static_cast<std::size_t>(site.call->function)];
    if (called.body) return &called;
  }
  return function;
}

}  // namespace cuco::analysis
