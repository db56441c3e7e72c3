// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/writing/fitted_launch.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "expert/kernels/writing/rendering.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;

constexpr int kMaxDepth = 8;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

Result<std::string> in_arguments_at(const KernelBody& kernel, const Expression& whole, int depth) {
  const auto& parameters = kernel.function().parameters;
  const Error unknown = no(fmt::format("the host does not know '{}'", whole.text));
  if (depth > kMaxDepth) return unknown;
  switch (whole.kind) {
    case ExpressionKind::Literal:
      return std::to_string(whole.value);
    case ExpressionKind::Variable: {
      const auto found = std::ranges::find(parameters, whole.variable);
      if (found != parameters.end()) {
        if (kernel.assignments(whole.variable) > 0) return unknown;
        return fmt::format("@{}@", found - parameters.begin());
      }
      const auto* value = kernel.only_value(whole.variable);
      return value == nullptr ? unknown : in_arguments_at(kernel, *value, depth + 1);
    }
    case ExpressionKind::Member: {
      const bool of_parameter =
          whole.operands.size() == 1 && !whole.arrow &&
          whole.operands[0].kind == ExpressionKind::Variable &&
          std::ranges::find(parameters, whole.operands[0].variable) != parameters.end();
      if (!of_parameter) return unknown;
      CUCO_TRY_ASSIGN(const auto object, in_arguments_at(kernel, whole.operands[0], depth + 1));
      return fmt::format("{}.{}", object, whole.name);
    }
    case ExpressionKind::Binary: {
      constexpr std::string_view kKnown = "+-*/";
      if (whole.name.size() != 1 || kKnown.find(whole.name) == std::string_view::npos)
        return unknown;
      CUCO_TRY_ASSIGN(const auto left, in_arguments_at(kernel, whole.operands[0], depth + 1));
      CUCO_TRY_ASSIGN(const auto right, in_arguments_at(kernel, whole.operands[1], depth + 1));
      return fmt::format("({} {} {})", left, whole.name, right);
    }
    default:
      return unknown;
  }
}

/// With the launch's own arguments.
std::string filled_in(const std::string& expression, const LaunchText& launch) {
  std::string result;
  for (std::size_t at = 0; at < expression.size(); ++at) {
    if (expression[at] != '@') {
      result += expression[at];
      continue;
    }
    const auto end = expression.find('@', at + 1);
    const auto number = std::stoul(expression.substr(at + 1, end - at - 1));
    const auto& argument = launch.arguments[number];
    const bool alone = at == 0 && end + 1 == expression.size();
    result += alone ? argument : as_factor(argument);
    at = end;
  }
  return result;
}

/// f(x), x = 1 and ++x may do more than give a value.
bool only_reads(std::string_view argument) {
  for (std::size_t i = 0; i < argument.size(); ++i) {
    const char c = argument[i];
    const char before = i == 0 ? ' ' : argument[i - 1];
    const char after = i + 1 == argument.size() ? ' ' : argument[i + 1];
    if (c == '(' && is_word(before)) return false;
    if (c == '=' && after != '=' && std::string_view("=<>!").find(before) == std::string_view::npos)
      return false;
    if ((c == '+' || c == '-') && c == after) return false;
  }
  return true;
}

}  // namespace

Result<std::string> in_arguments(const KernelBody& kernel, const Expression& expression) {
  return in_arguments_at(kernel, expression, 0);
}

Result<void> check_repeatable(const LaunchText& launch, const std::string& expression) {
  for (auto at = expression.find('@'); at != std::string::npos;) {
    const auto end = expression.find('@', at + 1);
    const auto number = std::stoul(expression.substr(at + 1, end - at - 1));
    if (number >= launch.arguments.size()) return no("a launch leaves an argument to its default");
    if (!only_reads(launch.arguments[number]))
      return no(fmt::format("'{}' cannot be evaluated twice", launch.arguments[number]));
    at = expression.find('@', end + 1);
  }
  return {};
}

GridAndBlock fit_launch(const FittedLaunch& fitted,
                        const LaunchText& launch,
                        const FitNames& names) {
  const auto sizes = fmt::format("{}, {}, {}", filled_in(fitted.length, launch),
                                 filled_in(fitted.each, launch), fitted.most);
  if (fitted.fit == Fit::Block)
    return {launch.grid_text, fmt::format("{}({})", names.threads, sizes),
            fmt::format("{}({}) == 1", names.parts, sizes)};
  return {fmt::format("{}({}, {})", names.grid, launch.grid_text, sizes),
          fmt::format("{}({})", names.block, sizes), ""};
}

}  // namespace cuco::expert::kernels
