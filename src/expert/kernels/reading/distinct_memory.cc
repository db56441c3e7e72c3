// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/distinct_memory.h"

#include <algorithm>

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;

constexpr int kMaxDepth = 8;

bool intersect(const std::vector<int>& a, const std::vector<int>& b) {
  return std::ranges::any_of(a, [&](int each) { return std::ranges::find(b, each) != b.end(); });
}

bool leads(const Expression& expression) {
  return expression.type.ends_with("*") || expression.type.ends_with("]");
}

}  // namespace

int DistinctMemory::origin(const Expression& pointer, int depth) const {
  if (depth > kMaxDepth) return -1;
  const auto& operands = pointer.operands;
  switch (pointer.kind) {
    case ExpressionKind::Variable: {
      if (number_of(pointer.variable) >= 0 || is_own_array(pointer.variable))
        return kernel_.assignments(pointer.variable) == 0 ? pointer.variable : -1;
      const auto* value = kernel_.only_value(pointer.variable);
      return value == nullptr ? -1 : origin(*value, depth + 1);
    }
    case ExpressionKind::Binary: {
      const bool sum = pointer.name == "+" || pointer.name == "-";
      if (!sum || leads(operands[0]) == leads(operands[1])) return -1;
      return origin(operands[leads(operands[0]) ? 0 : 1], depth + 1);
    }
    case ExpressionKind::Index:
      return origin(operands[0], depth + 1);
    case ExpressionKind::Unary:
      return pointer.name == "&" || pointer.name == "*" ? origin(operands[0], depth + 1) : -1;
    case ExpressionKind::Other:  // A cast.
      return operands.size() == 1 && leads(operands[0]) ? origin(operands[0], depth + 1) : -1;
    default:
      return -1;
  }
}

int DistinctMemory::number_of(int variable) const {
  const auto& parameters = kernel_.function().parameters;
  const auto found = std::ranges::find(parameters, variable);
  return found == parameters.end() ? -1 : static_cast<int>(found - parameters.begin());
}

/// In shared or local memory, and with a length: all arrays of a launch's length are one.
bool DistinctMemory::is_own_array(int id) const {
  const auto& variable = kernel_.variable(id);
  return variable.canonical.ends_with("]") && !variable.canonical.ends_with("[]") &&
         !variable.device && number_of(id) < 0;
}

bool DistinctMemory::is_own(const Expression& pointer) const {
  const int variable = origin(pointer, 0);
  return variable >= 0 && is_own_array(variable);
}

int DistinctMemory::parameter_of(const Expression& pointer) const {
  const int variable = origin(pointer, 0);
  return variable < 0 ? -1 : number_of(variable);
}

bool DistinctMemory::apart(const Expression& a, const Expression& b) const {
  const int first = origin(a, 0);
  const int second = origin(b, 0);
  if (first < 0 || second < 0 || first == second) return false;
  if (is_own_array(first) || is_own_array(second)) return true;
  return apart(number_of(first), number_of(second));
}

bool DistinctMemory::apart(int first, int second) const {
  const auto i = static_cast<std::size_t>(first);
  const auto j = static_cast<std::size_t>(second);
  for (const auto number : {i, j}) {
    const auto& variable = kernel_.variable(kernel_.function().parameters[number]);
    if (variable.type.find("__restrict") != std::string::npos) return true;
  }
  return !launches_.empty() && std::ranges::all_of(launches_, [&](const auto& arguments) {
    return i < arguments.size() && j < arguments.size() && !arguments[i].empty() &&
           !arguments[j].empty() && !intersect(arguments[i], arguments[j]);
  });
}

}  // namespace cuco::expert::kernels
