// SPDX-License-Identifier: Apache-2.0
#include "expert/forward/plan_text.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/edit.h"
#include "expert/kernels/reading/kernel_body.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::forward {
namespace {

using analysis::CommunicationGraph;
using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Function;
using analysis::Statement;
using analysis::StatementKind;
using kernels::visit;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// The variable of which something is changed; -1 where a pointer leads elsewhere.
int root_of(const Expression& expression) {
  const Expression* at = &expression;
  while (!at->operands.empty() && (at->kind == ExpressionKind::Index ||
                                   (at->kind == ExpressionKind::Member && !at->arrow))) {
    at = at->operands.data();
  }
  const bool pointer = at->type.ends_with("*") && at != &expression;
  return at->kind == ExpressionKind::Variable && !pointer ? at->variable : -1;
}

bool changes_container(std::string_view method) {
  constexpr auto kMethods =
      std::to_array<std::string_view>({"push_back", "emplace_back", "pop_back", "clear", "resize",
                                       "insert", "erase", "assign", "reserve", "emplace", "swap"});
  return std::ranges::find(kMethods, method) != kMethods.end();
}

/// What code that is to run twice may not do.
class TwiceRunner {
 public:
  explicit TwiceRunner(const CommunicationGraph& graph) : graph_(graph) {}

  /// `own`: variables that it may change.
  Result<void> check(const Statement& statement, std::set<int> own) {
    const auto declared = kernels::declared_in(statement);
    own.insert(declared.begin(), declared.end());
    std::string reason;
    const auto refuse = [&](std::string why) {
      if (reason.empty()) reason = std::move(why);
    };
    kernels::for_each_expression(statement, [&](const Expression& expression) {
      if (const Expression* changed = changed_by(expression); changed != nullptr) {
        if (!own.contains(root_of(*changed)))
          refuse(fmt::format("its code changes '{}', so it cannot run twice", changed->text));
      }
      if (expression.kind == ExpressionKind::Launch)
        refuse(fmt::format("its code launches '{}'", expression.text));
      if (expression.function >= 0 && expression.kind == ExpressionKind::Call) {
        const auto called = check_call(expression.function);
        if (!called) refuse(called.error().message());
      }
    });
    if (!reason.empty()) return no(reason);
    return {};
  }

 private:
  static const Expression* changed_by(const Expression& expression) {
    if (expression.operands.empty() && expression.callee.empty()) return nullptr;
    const bool assigns = expression.kind == ExpressionKind::Assign ||
                         (expression.kind == ExpressionKind::Unary &&
                          (expression.name == "++" || expression.name == "--"));
    const bool by_operator =
        expression.kind == ExpressionKind::Call && expression.name == "operator=";
    if ((assigns || by_operator) && !expression.operands.empty()) return &expression.operands[0];
    if (expression.kind == ExpressionKind::Call && changes_container(expression.name) &&
        !expression.callee.empty()) {
      return &expression.callee[0];
    }
    return nullptr;
  }

  /// A function may change its own variables.
  Result<void> check_call(int id) {
    if (!seen_.insert(id).second) return {};
    const Function& function = graph_.syntax.functions[static_cast<std::size_t>(id)];
    if (!function.body) return {};
    std::set<int> own;
    for (const int parameter : function.parameters) {
      if (!graph_.syntax.variables[static_cast<std::size_t>(parameter)].reference)
        own.insert(parameter);
    }
    return check(*function.body, own);
  }

  const CommunicationGraph& graph_;
  std::set<int> seen_;
};

/// Closures are read as well: what they capture by name.
std::set<int> used_in(const Statement& statement) {
  std::set<int> used;
  kernels::for_each_expression(statement, [&](const Expression& expression) {
    if (expression.kind == ExpressionKind::Variable) used.insert(expression.variable);
  });
  return used;
}

/// Which of the statements between are needed: declarations of what is used, and of what those use.
Result<std::vector<const Statement*>> needed_declarations(const CommunicationGraph& graph,
                                                          const PlannedStatements& planned) {
  const auto& statements = planned.block->statements;
  std::set<int> used;
  for (std::size_t i = planned.begin; i < planned.end; ++i)
    used.merge(used_in(statements[i]));
  std::vector<const Statement*> needed;
  for (std::size_t i = planned.begin; i-- > planned.first;) {
    const Statement& statement = statements[i];
    const bool declares = statement.kind == StatementKind::Declare &&
                          std::ranges::any_of(statement.declared, [&](const auto& declared) {
                            return used.contains(declared.variable);
                          });
    if (declares) {
      CUCO_TRY(TwiceRunner(graph).check(statement, {}));
      used.merge(used_in(statement));
      needed.insert(needed.begin(), &statement);
      continue;
    }
    for (const int changed : kernels::assigned_in(statement)) {
      if (!used.contains(changed)) continue;
      return no(fmt::format("'{}', which the exchange needs, changes after the data is made",
                            graph.syntax.variables[static_cast<std::size_t>(changed)].name));
    }
  }
  return needed;
}

bool has_call(const Expression& expression) {
  bool found = false;
  kernels::for_each_expression(expression, [&](const Expression& part) {
    found = found || part.kind == ExpressionKind::Call;
  });
  return found;
}

/// Returns leave the closure, without a value.
Result<void> end_closure_at_returns(const Statement& statement, Edits& edits, bool in_loop) {
  if (statement.kind == StatementKind::Return) {
    if (statement.span.from_macro) return no("a macro returns from the function of the exchange");
    if (!statement.value) return {};
    const auto& value = statement.value->span;
    if (has_call(*statement.value)) {
      edits.replace(statement.span.begin, value.begin, "return (void)(");
      edits.insert(value.end, ")");
    } else {
      edits.replace(statement.span.begin, statement.span.end, "return;");
    }
    return {};
  }
  if (statement.kind == StatementKind::Jump && !in_loop)
    return no("it leaves the block of the exchange by a jump");
  const bool loop =
      statement.kind == StatementKind::Loop || statement.kind == StatementKind::Switch;
  for (const Statement& part : statement.statements)
    CUCO_TRY(end_closure_at_returns(part, edits, in_loop || loop));
  return {};
}

}  // namespace

Result<std::string> plan_text(const CommunicationGraph& graph,
                              std::string_view text,
                              const PlannedStatements& planned) {
  const auto& statements = planned.block->statements;
  CUCO_TRY_ASSIGN(const auto needed, needed_declarations(graph, planned));
  std::vector<std::string> lines;
  for (const Statement* statement : needed) {
    if (statement->span.from_macro) return no("a macro declares what the exchange needs");
    lines.emplace_back(
        text.substr(statement->span.begin, statement->span.end - statement->span.begin));
  }
  Edits edits(text);
  for (std::size_t i = planned.begin; i < planned.end; ++i) {
    CUCO_TRY(TwiceRunner(graph).check(statements[i], {}));
    CUCO_TRY(end_closure_at_returns(statements[i], edits, false));
  }
  lines.push_back(
      edits.take(statements[planned.begin].span.begin, statements[planned.end - 1].span.end));
  // As far to the right as in the block.
  const std::size_t at = statements[planned.first].span.begin;
  return join(lines, "\n" + std::string(at - (text.rfind('\n', at) + 1), ' '));
}

}  // namespace cuco::expert::forward
