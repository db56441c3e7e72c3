// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/launch_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Span;

Span trimmed(std::string_view text, std::size_t begin, std::size_t end) {
  while (begin < end && std::isspace(static_cast<unsigned char>(text[begin])) != 0)
    ++begin;
  while (end > begin && std::isspace(static_cast<unsigned char>(text[end - 1])) != 0)
    --end;
  return {.begin = begin, .end = end};
}

/// What stands between <<< and >>>, at the commas of the outermost level.
std::vector<Span> configuration(std::string_view text, const Span& launch) {
  std::vector<Span> found;
  std::size_t at = text.find("<<<", launch.begin);
  if (at == std::string_view::npos || at >= launch.end) return found;
  std::size_t begin = at + 3;
  int depth = 0;
  for (at = begin; at < launch.end; ++at) {
    const bool ends = depth == 0 && text.substr(at, 3) == ">>>";
    if (ends || (depth == 0 && text[at] == ',')) {
      found.push_back(trimmed(text, begin, at));
      begin = at + 1;
    }
    if (ends) return found;
    if (text[at] == '(' || text[at] == '{') ++depth;
    if (text[at] == ')' || text[at] == '}') --depth;
  }
  return {};
}

/// The launch in the syntax, for the types of its configuration.
const Expression* find_launch(const analysis::Syntax& syntax, const Span& span) {
  const Expression* found = nullptr;
  for (const auto& function : syntax.functions) {
    if (!function.body || found != nullptr) continue;
    for_each_expression(*function.body, [&](const Expression& expression) {
      const bool same = expression.kind == ExpressionKind::Launch && expression.span == span;
      if (same && !expression.configuration.empty()) found = &expression;
    });
  }
  return found;
}

/// Not a part of a larger expression.
bool is_statement(const analysis::Syntax& syntax, const Span& span) {
  bool found = false;
  for (const auto& function : syntax.functions) {
    if (!function.body || found) continue;
    visit(*function.body, {{}, [&](const analysis::Statement& part) {
                             found = found || (part.kind == analysis::StatementKind::Evaluate &&
                                               part.value && part.value->span == span);
                             return !found;
                           }});
  }
  return found;
}

/// A number, also where it is about to become a dim3.
bool is_number(const Expression& expression) {
  if (expression.kind == ExpressionKind::Construct && !expression.operands.empty())
    return expression.text.find("dim3") == std::string::npos && is_number(expression.operands[0]);
  return expression.type.find("dim3") == std::string::npos;
}

std::optional<long long> value_of(const analysis::Syntax& syntax, std::string_view text) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  for (const auto& global : syntax.globals) {
    const auto& variable = syntax.variables[static_cast<std::size_t>(global.variable)];
    if (variable.name == text && global.value && global.value->kind == ExpressionKind::Literal &&
        variable.type.starts_with("const"))
      return global.value->value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LaunchText> read_launch(const analysis::CommunicationGraph& graph,
                                      const analysis::Launch& launch,
                                      std::string_view text) {
  if (launch.span.from_macro || launch.span.elsewhere) return std::nullopt;
  const auto parts = configuration(text, launch.span);
  if (parts.size() < 2) return std::nullopt;
  LaunchText read;
  read.span = launch.span;
  read.grid = parts[0];
  read.block = parts[1];
  read.grid_text = text.substr(parts[0].begin, parts[0].end - parts[0].begin);
  read.block_text = text.substr(parts[1].begin, parts[1].end - parts[1].begin);
  read.arguments = launch.arguments;
  read.arguments_end = text.rfind(')', launch.span.end - 1);
  read.threads = value_of(graph.syntax, read.block_text);
  const auto* call = find_launch(graph.syntax, launch.span);
  read.flat = call != nullptr && call->configuration.size() >= 2 &&
              is_number(call->configuration[0]) && is_number(call->configuration[1]);
  read.repeatable = read.grid_text.find_first_of("=") == std::string::npos &&
                    read.grid_text.find("++") == std::string::npos &&
                    read.grid_text.find("--") == std::string::npos;
  if (is_statement(graph.syntax, launch.span)) {
    const auto semicolon = text.find_first_not_of(" \t\n", launch.span.end);
    if (semicolon != std::string_view::npos && text[semicolon] == ';')
      read.statement_end = semicolon + 1;
  }
  return read;
}

}  // namespace cuco::expert::kernels
