// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/kernel_body.h"

#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Statement;

KernelBody::KernelBody(const analysis::Syntax& syntax, const analysis::Function& function)
    : syntax_(&syntax), function_(&function) {
  visit(body(), {[&](const Expression& expression) {
                   if (const int changed = assigned_variable(expression); changed >= 0) {
                     ++assignments_[changed];
                   }
                   return true;
                 },
                 [&](const Statement& statement) {
                   for (const auto& declared : statement.declared) {
                     if (declared.value) first_values_[declared.variable] = &*declared.value;
                   }
                   return true;
                 }});
  for (const auto& global : syntax.globals) {
    if (global.value) first_values_[global.variable] = &*global.value;
  }
}

const Expression* KernelBody::only_value(int variable) const {
  const auto found = first_values_.find(variable);
  if (found == first_values_.end() || assignments(variable) > 0) return nullptr;
  return found->second;
}

bool KernelBody::is_made_of(const Expression& expression, std::string_view builtin) const {
  bool found = false;
  std::set<int> followed;
  const auto follow = [&](const auto& self, const Expression& whole) -> void {
    for_each_expression(whole, [&](const Expression& part) {
      if (builtin_name(part) == builtin) found = true;
      if (part.kind != ExpressionKind::Variable || !followed.insert(part.variable).second) return;
      if (const auto* value = only_value(part.variable)) self(self, *value);
    });
  };
  follow(follow, expression);
  return found;
}

int KernelBody::assignments(int variable) const {
  const auto found = assignments_.find(variable);
  return found == assignments_.end() ? 0 : found->second;
}

int assigned_variable(const Expression& expression) {
  const bool changes =
      expression.kind == ExpressionKind::Assign ||
      (expression.kind == ExpressionKind::Unary &&
       (expression.name == "++" || expression.name == "--" || expression.name == "&"));
  const auto variable_of = [](const Expression& operand) {
    // The members of an object are part of it.
    const Expression* at = &operand;
    while (at->kind == ExpressionKind::Member && !at->arrow && !at->operands.empty())
      at = &at->operands[0];
    return at->kind == ExpressionKind::Variable ? at->variable : -1;
  };
  if (changes && !expression.operands.empty()) return variable_of(expression.operands[0]);
  // What a callee may write through a reference.
  if (expression.kind == ExpressionKind::Call) {
    for (std::size_t i = 0; i < expression.operands.size() && i < expression.writes.size(); ++i) {
      const bool pointer = expression.operands[i].type.ends_with("*");
      const int variable = variable_of(expression.operands[i]);
      if (expression.writes[i] && !pointer && variable >= 0) return variable;
    }
  }
  return -1;
}

std::string builtin_name(const Expression& expression) {
  if (expression.kind != ExpressionKind::Member || expression.operands.empty()) return "";
  const auto& object = expression.operands[0];
  const bool known = object.name == "threadIdx" || object.name == "blockIdx" ||
                     object.name == "blockDim" || object.name == "gridDim";
  if (object.kind != ExpressionKind::Variable || !known || expression.name.size() != 1) return "";
  return object.name + "." + expression.name;
}

std::set<int> variables_of(const Expression& expression) {
  std::set<int> found;
  for_each_expression(expression, [&](const Expression& part) {
    if (part.kind == ExpressionKind::Variable) found.insert(part.variable);
  });
  return found;
}

std::set<int> declared_in(const Statement& statement) {
  std::set<int> found;
  visit(statement, {{}, [&](const Statement& part) {
                      for (const auto& declared : part.declared)
                        found.insert(declared.variable);
                      if (part.each >= 0) found.insert(part.each);
                      return true;
                    }});
  return found;
}

std::set<int> assigned_in(const Statement& statement) {
  std::set<int> found;
  for_each_expression(statement, [&](const Expression& part) {
    if (const int changed = assigned_variable(part); changed >= 0) found.insert(changed);
  });
  return found;
}

}  // namespace cuco::expert::kernels
