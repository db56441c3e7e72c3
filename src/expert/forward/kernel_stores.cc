// SPDX-License-Identifier: Apache-2.0
#include "expert/forward/kernel_stores.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "expert/kernels/reading/visit.h"
#include "program/tokens.h"

namespace cuco::expert::forward {
namespace {

using analysis::CommunicationGraph;
using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Function;
using analysis::Kernel;
using analysis::Span;
using analysis::Statement;
using analysis::StatementKind;

constexpr std::string_view kForwarder = "cuco_forwarder";

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// The sides of an assignment, as an operator or a function of the class.
struct Sides {
  const Expression* whole = nullptr;
  const Expression* to = nullptr;
  const Expression* value = nullptr;
};
std::optional<Sides> assignment(const Expression& expression) {
  const bool assigns = (expression.kind == ExpressionKind::Assign && expression.name == "=") ||
                       (expression.kind == ExpressionKind::Call && expression.name == "operator=");
  if (!assigns || expression.operands.size() != 2) return std::nullopt;
  return Sides{&expression, &expression.operands[0], &expression.operands[1]};
}

const Statement* statement_with(const Statement& statement, const Span& span) {
  const Statement* found = nullptr;
  kernels::visit(statement, {{}, [&](const Statement& part) {
                               if (part.span == span && part.kind != StatementKind::Block)
                                 found = &part;
                               return true;
                             }});
  return found;
}

/// The statement is one assignment and nothing in it assigns anything else.
Result<Sides> stored_by(const Kernel& kernel, const Function& function, const Span& span) {
  const auto refuse = [&](std::string_view why) {
    return no(fmt::format("{} line {}: {}", kernel.name, span.line, why));
  };
  if (span.begin < kernel.body.begin || span.end > kernel.body.end || span.elsewhere)
    return refuse("a function that the kernel calls stores what is sent");
  if (span.from_macro) return refuse("a macro stores what is sent");
  const Statement* statement = statement_with(*function.body, span);
  if (statement == nullptr || statement->kind != StatementKind::Evaluate || !statement->value)
    return refuse("what is sent is not stored by an assignment of its own");
  const auto sides = assignment(*statement->value);
  if (!sides) return refuse("what is sent is updated or stored by a call, not assigned");
  int assignments = 0;
  kernels::for_each_expression(*statement->value, [&](const Expression& expression) {
    const bool counts = expression.kind == ExpressionKind::Assign ||
                        (expression.kind == ExpressionKind::Unary &&
                         (expression.name == "++" || expression.name == "--"));
    assignments += assignment(expression) || counts ? 1 : 0;
  });
  if (assignments != 1) return refuse("the statement that stores what is sent changes more");
  if (sides->to->span.from_macro || sides->value->span.from_macro)
    return refuse("a macro writes a part of the assignment");
  return *sides;
}

std::vector<const Function*> instantiations(const CommunicationGraph& graph, const Kernel& kernel) {
  std::vector<const Function*> found;
  for (const Function& function : graph.syntax.functions) {
    if (function.span == kernel.span && function.body) found.push_back(&function);
  }
  return found;
}

/// A second declaration would have to change as well.
bool declared_again(std::string_view text, const Kernel& kernel) {
  const auto names = program::identifiers(text);
  for (std::size_t i = 1; i < names.size(); ++i) {
    const bool inside = names[i].begin >= kernel.span.begin && names[i].begin < kernel.body.begin;
    if (names[i].name == kernel.name && names[i - 1].name == "void" && !inside) return true;
  }
  return false;
}

}  // namespace

Result<void> add_forward_parameter(std::string_view text, const Kernel& kernel, Edits& edits) {
  // __global__ is a macro itself.
  if (kernel.body.from_macro || kernel.span.elsewhere || kernel.parameters.empty() ||
      kernel.parameters.back().span.from_macro)
    return no(fmt::format("{} is written by a macro or in a header", kernel.name));
  if (declared_again(text, kernel))
    return no(fmt::format("{} is declared in more than one place", kernel.name));
  edits.insert(kernel.parameters.back().span.end,
               ", const __grid_constant__ cuco::Forward cuco_forward");
  return {};
}

Result<void> forward_stores(const CommunicationGraph& graph,
                            std::string_view text,
                            const Kernel& kernel,
                            Edits& edits) {
  CUCO_TRY(add_forward_parameter(text, kernel, edits));
  std::vector<Span> done;
  for (const Function* function : instantiations(graph, kernel)) {
    for (const Kernel& one : graph.kernels) {
      if (!(one.span == kernel.span) || one.arguments != function->arguments) continue;
      for (const auto& store : one.stores) {
        if (std::ranges::find(done, store.statement) != done.end()) continue;
        done.push_back(store.statement);
        CUCO_TRY_ASSIGN(const Sides sides, stored_by(kernel, *function, store.statement));
        edits.insert(sides.to->span.begin, fmt::format("{}.store(&(", kForwarder));
        edits.replace(sides.to->span.end, sides.value->span.begin, "), ");
        edits.insert(sides.value->span.end, ")");
      }
    }
  }
  edits.insert(kernel.body.begin + 1,
               fmt::format("\n  cuco::Forwarder {}(cuco_forward);", kForwarder));
  return {};
}

Result<void> open_first(std::string_view text, const Kernel& kernel, Edits& edits) {
  CUCO_TRY(add_forward_parameter(text, kernel, edits));
  edits.insert(kernel.body.begin + 1, "\n  cuco::Opener cuco_opener(cuco_forward);");
  return {};
}

Result<void> pass_forward(const CommunicationGraph& graph,
                          std::string_view text,
                          const Kernel& kernel,
                          const PlannedLaunches& launches,
                          Edits& edits) {
  std::vector<Span> done;
  for (const auto& launch : graph.launches) {
    const Kernel& launched = graph.kernels[static_cast<std::size_t>(launch.kernel)];
    if (!(launched.span == kernel.span)) continue;
    if (std::ranges::find(done, launch.span) != done.end()) continue;
    done.push_back(launch.span);
    const auto written = text.substr(launch.span.begin, launch.span.end - launch.span.begin);
    if (launch.span.from_macro || launch.span.elsewhere || !written.ends_with(")") ||
        written.find("<<<") == std::string_view::npos) {
      return no(
          fmt::format("{} is not launched by <<<...>>> in line {}", kernel.name, launch.span.line));
    }
    const auto is_one_of = [&](const std::set<int>& operations) {
      return std::ranges::any_of(graph.launches, [&](const auto& other) {
        return other.span == launch.span && operations.contains(other.operation);
      });
    };
    const std::string_view argument =
        is_one_of(launches.producers)
            ? launches.side_by_side ? "cuco::forward_beside()" : "cuco::forward()"
        : is_one_of(launches.openers) ? "cuco::opening()"
                                      : "cuco::Forward{}";
    edits.insert(launch.span.end - 1, fmt::format(", {}", argument));
  }
  return {};
}

}  // namespace cuco::expert::forward
