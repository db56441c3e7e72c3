// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/subscript.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;

constexpr int kMaxDepth = 16;

bool depends_at(const KernelBody& kernel, const Expression& expression, int index, int depth) {
  for (const int variable : variables_of(expression)) {
    if (variable == index) return true;
    const auto* value = kernel.only_value(variable);
    if (value != nullptr && depth < kMaxDepth && depends_at(kernel, *value, index, depth + 1))
      return true;
  }
  return false;
}

/// A cast to fewer than 32 bits wraps: the elements are no neighbours then.
bool narrows(std::string_view text) {
  constexpr std::array<std::string_view, 6> kNarrow = {"char",    "short",   "int8_t",
                                                       "int16_t", "uint8_t", "uint16_t"};
  return std::ranges::any_of(kNarrow, [&](auto type) { return text.find(type) != text.npos; });
}

Result<std::string> rest_of(const KernelBody& kernel,
                            const Expression& expression,
                            int index,
                            int depth) {
  const Error other{ErrorKind::InvalidInput,
                    fmt::format("'{}' is not the index plus something", expression.text)};
  if (depth > kMaxDepth || narrows(expression.text)) return other;
  if (expression.kind == ExpressionKind::Variable) {
    if (expression.variable == index) return std::string();
    const auto* value = kernel.only_value(expression.variable);
    if (value == nullptr || narrows(kernel.variable(expression.variable).canonical)) return other;
    return rest_of(kernel, *value, index, depth + 1);
  }
  if (expression.kind != ExpressionKind::Binary) return other;
  const auto& left = expression.operands[0];
  const auto& right = expression.operands[1];
  const bool in_left = depends_on(kernel, left, index);
  const bool in_right = depends_on(kernel, right, index);
  if (in_left && !in_right && (expression.name == "+" || expression.name == "-")) {
    CUCO_TRY_ASSIGN(const std::string rest, rest_of(kernel, left, index, depth + 1));
    if (!rest.empty()) return fmt::format("{} {} {}", rest, expression.name, right.text);
    return expression.name == "+" ? right.text : fmt::format("-({})", right.text);
  }
  if (in_right && !in_left && expression.name == "+") {
    CUCO_TRY_ASSIGN(const std::string rest, rest_of(kernel, right, index, depth + 1));
    return rest.empty() ? left.text : fmt::format("{} + {}", left.text, rest);
  }
  return other;
}

}  // namespace

bool depends_on(const KernelBody& kernel, const Expression& expression, int index) {
  return depends_at(kernel, expression, index, 0);
}

Result<std::string> without_index(const KernelBody& kernel,
                                  const Expression& subscript,
                                  int index) {
  return rest_of(kernel, subscript, index, 0);
}

}  // namespace cuco::expert::kernels
