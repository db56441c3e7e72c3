// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/loops/accumulators.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;

/// How often an update of the accumulator names it: x += v once, x = max(x, v) twice.
int uses_in_update(const Expression& expression, int id) {
  const auto names = [&](const Expression& operand) {
    return operand.kind == ExpressionKind::Variable && operand.variable == id;
  };
  if (expression.kind == ExpressionKind::Unary && expression.name == "++")
    return names(expression.operands[0]) ? 1 : 0;
  if (expression.kind != ExpressionKind::Assign || !names(expression.operands[0])) return 0;
  constexpr std::array<std::string_view, 5> kUpdates = {"+=", "*=", "|=", "&=", "^="};
  if (std::ranges::find(kUpdates, expression.name) != kUpdates.end()) return 1;
  const auto& value = expression.operands[1];
  constexpr std::array<std::string_view, 8> kCombine = {"max",  "min",  "fmaxf", "fminf",
                                                        "fmax", "fmin", "+",     "*"};
  const bool combines = value.kind == ExpressionKind::Call || value.kind == ExpressionKind::Binary;
  if (expression.name != "=" || !combines || value.operands.size() != 2) return 0;
  if (std::ranges::find(kCombine, value.name) == kCombine.end()) return 0;
  return names(value.operands[0]) != names(value.operands[1]) ? 2 : 0;
}

bool only_accumulates(const ElementLoop& loop, int id) {
  int uses = 0;
  int updates = 0;
  for (const auto* statement : loop.body) {
    for_each_expression(*statement, [&](const Expression& part) {
      if (part.kind == ExpressionKind::Variable && part.variable == id) ++uses;
      updates += uses_in_update(part, id);
    });
  }
  return uses == updates;
}

}  // namespace

Result<std::set<int>> find_accumulators(const KernelBody& kernel, const ElementLoop& loop) {
  std::set<int> inside;
  std::set<int> changed;
  for (const auto* statement : loop.body) {
    inside.merge(declared_in(*statement));
    changed.merge(assigned_in(*statement));
  }
  std::set<int> found;
  for (const int id : changed) {
    const auto& variable = kernel.variable(id);
    if (inside.contains(id) || id == loop.index ||
        variable.canonical.find('[') != std::string::npos)
      continue;
    if (!only_accumulates(loop, id)) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("'{}' goes from one round to the next", variable.name)};
    }
    found.insert(id);
  }
  return found;
}

}  // namespace cuco::expert::kernels
