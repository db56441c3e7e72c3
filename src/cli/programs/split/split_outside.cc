// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/split/split_outside.h"

#include <algorithm>

#include "base/text.h"
#include "program/tokens.h"

namespace cuco::cli {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Function;
using analysis::Span;
using analysis::Statement;

std::string_view part(std::string_view text, const Span& span) {
  return text.substr(span.begin, span.end - span.begin);
}

/// "#include <…>" of headers that a workload has none of.
bool is_foreign(std::string_view line) {
  return line.find("mpi.h") != std::string_view::npos ||
         line.find("iostream") != std::string_view::npos;
}

/// Functions of the host that can be left out as they are: no templates, no members.
bool can_go(const Function& function, const Function& main, std::string_view text) {
  if (&function == &main || function.kind != analysis::FunctionKind::Host || function.record >= 0 ||
      !function.arguments.empty() || !function.body || function.span.from_macro ||
      function.span.elsewhere || function.name.empty())
    return false;
  if (main.span.begin <= function.span.begin && function.span.end <= main.span.end) return false;
  const std::string_view before = trim(text.substr(0, function.span.begin));
  return before.empty() || before.ends_with(';') || before.ends_with('}') ||
         before.ends_with('{') || before.ends_with('>') || before.ends_with('/');
}

bool names_of(const Expression& place, const std::function<bool(int)>& is_asked_for) {
  if (place.variable >= 0 && is_asked_for(place.variable)) return true;
  return std::ranges::any_of(
      place.operands, [&](const Expression& operand) { return names_of(operand, is_asked_for); });
}

bool changes(const Expression& expression, const std::function<bool(int)>& is_asked_for) {
  const auto is_named = [&](const Expression& place) { return names_of(place, is_asked_for); };
  if (expression.kind == ExpressionKind::Assign && !expression.operands.empty() &&
      is_named(expression.operands.front()))
    return true;
  if (expression.kind == ExpressionKind::Unary &&
      (expression.name == "++" || expression.name == "--" || expression.name == "&") &&
      std::ranges::any_of(expression.operands, is_named))
    return true;
  if (expression.kind == ExpressionKind::Call) {
    if (std::ranges::any_of(expression.callee, is_named)) return true;
    for (std::size_t i = 0; i < expression.operands.size() && i < expression.writes.size(); ++i) {
      if (expression.writes[i] && is_named(expression.operands[i])) return true;
    }
  }
  for (const auto* list : {&expression.operands, &expression.callee, &expression.configuration}) {
    for (const Expression& inner : *list) {
      if (changes(inner, is_asked_for)) return true;
    }
  }
  return std::ranges::any_of(expression.block, [&](const Statement& statement) {
    return writes_to(statement, is_asked_for);
  });
}

/// The end of what begins with an opening bracket at `at`, behind its closing one.
std::size_t behind_bracket(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return at + 1;
  }
  return std::string_view::npos;
}

/// Splits at the commas outside of brackets.
std::vector<std::string> at_commas(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& one : parts)
    one = std::string(trim(one));
  return parts;
}

}  // namespace

SplitOutside find_outside(const analysis::Syntax& syntax,
                          const Function& main,
                          std::string_view text,
                          const std::set<std::string, std::less<>>& needed) {
  std::vector<const Function*> gone;
  for (const Function& function : syntax.functions) {
    if (can_go(function, main, text)) gone.push_back(&function);
  }
  // Whoever is needed needs others.
  std::set<std::string, std::less<>> names = needed;
  for (bool grows = true; grows;) {
    grows = false;
    for (auto function = gone.begin(); function != gone.end();) {
      if (!names.contains((*function)->name)) {
        ++function;
        continue;
      }
      for (const auto& found : program::identifiers(part(text, (*function)->span)))
        names.emplace(found.name);
      function = gone.erase(function);
      grows = true;
    }
  }
  std::vector<Span> holes{main.span};
  for (const Function* function : gone)
    holes.push_back(function->span);
  SplitOutside outside;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = trim(text.substr(at, end - at));
    if (line.starts_with('#') && trim(line.substr(1)).starts_with("include")) {
      const Span span{at, end, 0, 0};
      holes.push_back(span);
      if (!is_foreign(line)) outside.includes.push_back(span);
    }
    at = end;
  }
  std::ranges::sort(holes, {}, &Span::begin);
  std::size_t at = 0;
  for (const Span& hole : holes) {
    if (hole.begin > at) outside.kept.push_back({at, hole.begin, 0, 0});
    at = std::max(at, hole.end);
  }
  if (at < text.size()) outside.kept.push_back({at, text.size(), 0, 0});
  return outside;
}

bool writes_to(const Statement& statement, const std::function<bool(int)>& is_asked_for) {
  const auto in = [&](const Expression& expression) { return changes(expression, is_asked_for); };
  if (statement.value && in(*statement.value)) return true;
  if (std::ranges::any_of(statement.operands, in)) return true;
  for (const auto* list : {&statement.header, &statement.statements}) {
    for (const Statement& inner : *list) {
      if (writes_to(inner, is_asked_for)) return true;
    }
  }
  return std::ranges::any_of(statement.declared, [&](const analysis::Declared& declared) {
    return declared.value && in(*declared.value);
  });
}

std::optional<LaunchText> launch_at(std::string_view text, const Span& span) {
  const std::size_t open = text.find("<<<", span.begin);
  if (open == std::string_view::npos || open >= span.end) return std::nullopt;
  const std::size_t close = text.find(">>>", open);
  const std::size_t bracket = close == std::string_view::npos ? close : text.find('(', close);
  if (bracket == std::string_view::npos) return std::nullopt;
  const std::size_t end = behind_bracket(text, bracket);
  if (end == std::string_view::npos) return std::nullopt;
  const auto parts = at_commas(text.substr(open + 3, close - open - 3));
  if (parts.size() < 2) return std::nullopt;
  return LaunchText{span.begin,
                    end,
                    std::string(trim(text.substr(span.begin, open - span.begin))),
                    parts[0],
                    parts[1],
                    parts.size() > 2 ? parts[2] : "0",
                    std::string(text.substr(bracket + 1, end - bracket - 2))};
}

}  // namespace cuco::cli
