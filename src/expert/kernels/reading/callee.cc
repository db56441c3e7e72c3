// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/callee.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "expert/kernels/reading/kernel_body.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Function;
using analysis::Statement;
using analysis::StatementKind;
using analysis::Syntax;

constexpr int kMaxDepth = 8;

/// "*p", "p[0]", or a reference itself.
bool is_the_element(const Expression& expression, int parameter, bool reference) {
  const auto names = [&](const Expression& operand) {
    return operand.kind == ExpressionKind::Variable && operand.variable == parameter;
  };
  if (reference) return names(expression);
  if (expression.kind == ExpressionKind::Unary && expression.name == "*")
    return names(expression.operands[0]);
  return expression.kind == ExpressionKind::Index && names(expression.operands[0]) &&
         expression.operands[1].kind == ExpressionKind::Literal &&
         expression.operands[1].value == 0;
}

bool assigns(const Expression& expression) {
  return expression.kind == ExpressionKind::Assign ||
         (expression.kind == ExpressionKind::Call && expression.name == "operator=");
}

/// Walks a function for all that is done with one of its parameters.
struct Uses {
  int parameter;
  bool reference;
  ParameterUse use;
  bool more = false;

  bool see(const Expression& expression) {
    if (assigns(expression) && is_the_element(expression.operands[0], parameter, reference)) {
      use.written = true;
      if (expression.kind == ExpressionKind::Assign && expression.name != "=") use.read = true;
      for (std::size_t i = 1; i < expression.operands.size(); ++i)
        visit(expression.operands[i], visitor());
      return false;
    }
    if (is_the_element(expression, parameter, reference)) {
      use.read = true;
      return false;
    }
    if (expression.kind == ExpressionKind::Variable && expression.variable == parameter)
      more = true;
    // Changed in place, or handed on: it may be anything.
    const bool changes =
        expression.kind == ExpressionKind::Unary &&
        (expression.name == "++" || expression.name == "--" || expression.name == "&");
    for (std::size_t i = 0; i < expression.operands.size(); ++i) {
      const bool written = expression.kind == ExpressionKind::Call &&
                           i < expression.writes.size() && expression.writes[i];
      if ((changes || written) && is_the_element(expression.operands[i], parameter, reference))
        more = true;
    }
    return true;
  }

  Visitor visitor() {
    return {[this](const Expression& expression) { return see(expression); }, {}};
  }
};

std::optional<std::string> effect_of(const Syntax& syntax, const Function& function, int depth);

std::optional<std::string> effect_of_call(const Syntax& syntax, const Expression& call, int depth) {
  if (talks_to_other_threads(call.name)) return fmt::format("calls {}", call.name);
  if (call.function >= 0)
    return effect_of(syntax, syntax.functions[static_cast<std::size_t>(call.function)], depth + 1);
  return std::nullopt;
}

std::optional<std::string> effect_of(const Syntax& syntax, const Function& function, int depth) {
  if (!function.body) return std::nullopt;
  if (depth > kMaxDepth) return fmt::format("calls {} too deeply to follow", function.name);
  std::set<int> own = declared_in(*function.body);
  own.insert(function.parameters.begin(), function.parameters.end());
  std::optional<std::string> found;
  const auto note = [&](std::optional<std::string> effect) {
    if (effect && !found) found = std::move(effect);
  };
  visit(*function.body, {[&](const Expression& expression) {
                           if (expression.kind == ExpressionKind::Call)
                             note(effect_of_call(syntax, expression, depth));
                           if (assigns(expression)) {
                             for (const int variable : variables_of(expression.operands[0])) {
                               if (!own.contains(variable))
                                 note(fmt::format("{} writes elsewhere", function.name));
                             }
                           }
                           return true;
                         },
                         [&](const Statement& statement) {
                           if (statement.kind == StatementKind::Asm)
                             note(fmt::format("{} has inline assembly", function.name));
                           return true;
                         }});
  return found;
}

}  // namespace

std::optional<ParameterUse> use_of_parameter(const Syntax& syntax,
                                             const Function& function,
                                             std::size_t parameter) {
  if (!function.body || parameter >= function.parameters.size()) return std::nullopt;
  const int id = function.parameters[parameter];
  const auto& variable = syntax.variables[static_cast<std::size_t>(id)];
  Uses uses{id, variable.reference, {}};
  visit(*function.body, uses.visitor());
  if (uses.more) return std::nullopt;
  return uses.use;
}

std::optional<std::string> side_effect(const Syntax& syntax, const Function& function) {
  return effect_of(syntax, function, 0);
}

bool is_conversion(const Expression& call) {
  return call.kind == ExpressionKind::Call && call.name.starts_with("operator ") &&
         call.callee.size() == 1 && call.operands.empty();
}

bool talks_to_other_threads(std::string_view name) {
  constexpr std::array<std::string_view, 12> kStarts = {
      "__sync",   "__shfl", "__ballot",      "__any",        "__all",       "__match",
      "__reduce", "atomic", "__threadfence", "__activemask", "__nanosleep", "cuda"};
  constexpr std::array<std::string_view, 8> kNames = {"sync", "printf",    "__trap", "malloc",
                                                      "free", "this_grid", "clock",  "clock64"};
  return std::ranges::any_of(kStarts, [&](auto start) { return name.starts_with(start); }) ||
         std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace cuco::expert::kernels
