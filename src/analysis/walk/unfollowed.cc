// SPDX-License-Identifier: Apache-2.0
#include "analysis/walk/unfollowed.h"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "analysis/walk/known_calls.h"
#include "base/text.h"

namespace cuco::analysis {
namespace {

using Visit = std::function<void(const Expression&)>;

void visit(const Statement& statement, const Visit& see);

void visit(const Expression& expression, const Visit& see) {
  see(expression);
  for (const auto* parts : {&expression.operands, &expression.configuration, &expression.callee})
    for (const Expression& part : *parts)
      visit(part, see);
  for (const Statement& statement : expression.block)
    visit(statement, see);
}

void visit(const std::vector<Declared>& declared, const Visit& see) {
  for (const Declared& one : declared)
    if (one.value) visit(*one.value, see);
}

void visit(const Statement& statement, const Visit& see) {
  visit(statement.declared, see);
  if (statement.value) visit(*statement.value, see);
  for (const Expression& operand : statement.operands)
    visit(operand, see);
  for (const auto* parts : {&statement.header, &statement.statements})
    for (const Statement& part : *parts)
      visit(part, see);
}

void visit(const Function& function, const Visit& see) {
  for (const MemberValue& member : function.members)
    visit(member.value, see);
  if (function.body) visit(*function.body, see);
}

std::set<int> referred_to(const Syntax& syntax) {
  std::set<int> functions;
  const Visit note = [&](const Expression& expression) { functions.insert(expression.function); };
  for (const Function& function : syntax.functions)
    visit(function, note);
  visit(syntax.globals, note);
  return functions;
}

/// Members may be called without being named: constructors, operators, overrides.
bool may_run(const Function& function, bool is_named) {
  return is_named || function.record >= 0 || function.name == "main" ||
         function.name.starts_with("cuco_");
}

bool communicates(const std::string& name) {
  const KnownCall* known = known_call(name);
  return known != nullptr && known->kind == OperationKind::Communicate;
}

}  // namespace

std::vector<Unfollowed> unfollowed(const CommunicationGraph& graph) {
  const Syntax& syntax = graph.syntax;
  std::set<Unfollowed> found;
  const Visit note = [&](const Expression& expression) {
    if (communicates(expression.name)) found.insert({expression.name, expression.span.line});
  };
  const std::set<int> named = referred_to(syntax);
  for (std::size_t i = 0; i < syntax.functions.size(); ++i) {
    if (may_run(syntax.functions[i], named.contains(static_cast<int>(i))))
      visit(syntax.functions[i], note);
  }
  visit(syntax.globals, note);
  for (const Collective& collective : graph.collectives)
    found.erase({collective.name, collective.span.line});
  std::vector<Unfollowed> calls(found.begin(), found.end());
  std::ranges::stable_sort(calls, {}, &Unfollowed::line);
  return calls;
}

std::string names_of(const std::vector<Unfollowed>& calls) {
  std::vector<std::string> names;
  for (const Unfollowed& call : calls)
    names.push_back(fmt::format("{} (line {})", call.name, call.line));
  return join(names, ", ");
}

bool has_other_traffic(const CommunicationGraph& graph) {
  return graph.mpi || std::ranges::any_of(graph.operations, [](const Operation& operation) {
           return operation.kind == OperationKind::Mpi ||
                  operation.name.find("Peer") != std::string::npos ||
                  operation.name == "ncclDevCommCreate" ||
                  operation.name == "ncclCommWindowRegister";
         });
}

}  // namespace cuco::analysis
