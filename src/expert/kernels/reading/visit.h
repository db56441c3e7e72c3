// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every expression and statement of a piece of syntax, outermost first, in the order of the text.
#pragma once

#include <functional>

#include "analysis/syntax.h"

namespace cuco::expert::kernels {

struct Visitor {
  /// Whether to go on into the operands.
  std::function<bool(const analysis::Expression&)> expression;
  /// Whether to go on into the statement.
  std::function<bool(const analysis::Statement&)> statement;
};

inline void visit(const analysis::Statement& statement, const Visitor& visitor);

inline void visit(const analysis::Expression& expression, const Visitor& visitor) {
  if (visitor.expression && !visitor.expression(expression)) return;
  for (const auto* list : {&expression.callee, &expression.configuration, &expression.operands}) {
    for (const auto& part : *list)
      visit(part, visitor);
  }
  for (const auto& part : expression.block)
    visit(part, visitor);
}

inline void visit(const analysis::Statement& statement, const Visitor& visitor) {
  if (visitor.statement && !visitor.statement(statement)) return;
  for (const auto& part : statement.header)
    visit(part, visitor);
  for (const auto& declared : statement.declared) {
    if (declared.value) visit(*declared.value, visitor);
  }
  if (statement.value) visit(*statement.value, visitor);
  for (const auto& operand : statement.operands)
    visit(operand, visitor);
  for (const auto& part : statement.statements)
    visit(part, visitor);
}

/// Every expression in it.
template <typename Piece>
void for_each_expression(const Piece& piece,
                         const std::function<void(const analysis::Expression&)>& see) {
  visit(piece, Visitor{[&](const analysis::Expression& expression) {
                         see(expression);
                         return true;
                       },
                       {}});
}

}  // namespace cuco::expert::kernels
