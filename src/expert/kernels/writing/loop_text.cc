// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/writing/loop_text.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Span;
using analysis::StatementKind;

bool within(const Span& inner, const Span& outer) {
  return inner.begin >= outer.begin && inner.end <= outer.end;
}

std::string index_type(const KernelBody& kernel, const ElementLoop& loop) {
  const auto& variable = kernel.variable(loop.index);
  std::string type = variable.type;
  if (type.starts_with("const ")) type.erase(0, 6);
  return type.find("auto") == std::string::npos ? type : variable.canonical;
}

}  // namespace

LoopText::LoopText(const VectorLoop& wanted, const KernelBody& kernel, std::string_view text)
    : wanted_(wanted),
      loop_(*wanted.loop),
      text_(text),
      index_(kernel.variable(loop_.index).name),
      type_(index_type(kernel, loop_)),
      limit_(loop_.limit->text) {}

std::string LoopText::start() const {
  return loop_.form == LoopForm::Guarded && wanted_.sharing.start == loop_.start->text
             ? index_
             : wanted_.sharing.start;
}

std::string LoopText::per_element(std::vector<Replacement> places,
                                  const std::string& first,
                                  const std::string& each) const {
  auto replacements = wanted_.everywhere;
  std::ranges::move(places, std::back_inserter(replacements));
  for (auto& declaration : without_use(replacements))
    replacements.push_back(std::move(declaration));
  std::string out;
  if (!uses_of(loop_.index, replacements).empty())
    out = fmt::format("const {} {} = {} + {};\n", type_, index_, first, each);
  const auto& span = loop_.body_text;
  return out +
         at_column(whole_lines(render(text_, span.begin, span.end, replacements), span.begin), 0);
}

/// Where the body names a variable, apart from what is replaced.
std::vector<Span> LoopText::uses_of(int variable, const std::vector<Replacement>& replaced) const {
  std::vector<Span> found;
  for (const auto* statement : loop_.body) {
    for_each_expression(*statement, [&](const Expression& expression) {
      if (expression.kind != ExpressionKind::Variable || expression.variable != variable) return;
      const bool gone = std::ranges::any_of(replaced, [&](const Replacement& replacement) {
        return within(expression.span, {.begin = replacement.begin, .end = replacement.end});
      });
      if (!gone) found.push_back(expression.span);
    });
  }
  return found;
}

/// Declarations of values that nobody asks for once the replacements are made, as replacements by
/// nothing.
std::vector<Replacement> LoopText::without_use(std::vector<Replacement> replaced) const {
  std::vector<Replacement> found;
  // The last first: what only it uses is not used any more either.
  for (auto at = loop_.body.rbegin(); at != loop_.body.rend(); ++at) {
    const auto& statement = **at;
    if (statement.kind != StatementKind::Declare || statement.declared.size() != 1 ||
        statement.span.from_macro || !uses_of(statement.declared[0].variable, replaced).empty())
      continue;
    bool calls = false;
    for_each_expression(statement, [&](const Expression& expression) {
      calls = calls || expression.kind == ExpressionKind::Call;
    });
    if (calls) continue;
    // With its line, if it has that for itself.
    auto begin = statement.span.begin;
    const auto newline = text_.rfind('\n', begin);
    if (newline != std::string_view::npos && newline + 1 >= loop_.body_text.begin &&
        trim(text_.substr(newline, begin - newline)).empty())
      begin = newline;
    found.push_back({begin, statement.span.end, ""});
    replaced.push_back(found.back());
  }
  return found;
}

/// With the columns before its first line, which the text may begin behind.
std::string LoopText::whole_lines(const std::string& piece, std::size_t begin) const {
  const auto newline = begin == 0 ? std::string_view::npos : text_.rfind('\n', begin - 1);
  const auto line = newline == std::string_view::npos ? 0 : newline + 1;
  const bool margin = trim(text_.substr(line, begin - line)).empty();
  return margin ? std::string(begin - line, ' ') + piece : piece;
}

std::string LoopText::rest(const std::string& done, const FreshNames& fresh) const {
  const auto from = done.empty() ? start() : fmt::format("{} + {}", done, as_term(start()));
  auto replacements = wanted_.everywhere;
  const auto& span = loop_.statement->span;
  if (loop_.form == LoopForm::Guarded) return guarded_rest(from, fresh);
  std::string before;
  if (loop_.form == LoopForm::While) {
    if (!done.empty()) before = fmt::format("{} += {};\n", index_, done);
  } else {
    replacements.push_back({loop_.start->span.begin, loop_.start->span.end, from});
    const auto& advance = loop_.statement->header[2].value->span;
    if (step() != loop_.step)
      replacements.push_back({advance.begin, advance.end, fmt::format("{} += {}", index_, step())});
  }
  return before +
         at_column(whole_lines(render(text_, span.begin, span.end, replacements), span.begin), 0);
}

std::string LoopText::guarded_rest(const std::string& from, FreshNames fresh) const {
  const auto each = fresh.make("one");
  const auto& span = loop_.body_text;
  std::string out = fmt::format("for ({0} {1} = {2}; {1} < {3}; {1} += {4}) {{\n", type_, each,
                                from, limit_, step());
  auto replacements = wanted_.everywhere;
  const auto uses = uses_of(loop_.index, replacements);
  if (std::ranges::any_of(uses, &Span::from_macro)) {
    out += fmt::format("  const {} {} = {};\n", type_, index_, each);
  } else {
    for (const auto& use : uses)
      replacements.push_back({use.begin, use.end, each});
  }
  out += at_column(whole_lines(render(text_, span.begin, span.end, replacements), span.begin), 2);
  return out + "\n}";
}

std::string LoopText::in_condition(const std::string& code) const {
  if (loop_.other_condition.empty()) return code;
  return fmt::format("if ({}) {{\n{}\n}}", loop_.other_condition, at_column(code, 2));
}

std::string base_of(const VectorAccess& access) {
  return access.rest.empty() ? access.pointer : fmt::format("&{}[{}]", access.pointer, access.rest);
}

std::string address_of(const VectorAccess& access, const std::string& first) {
  if (access.rest.empty()) return fmt::format("&{}[{}]", access.pointer, first);
  return fmt::format("&{}[{} + {}]", access.pointer, access.rest, first);
}

std::string vector_type(const VectorAccess& access,
                        const std::string& length,
                        const VectorNames& names) {
  if (!access.type_text.empty())
    return fmt::format("{}<{}, {}>", names.vector, access.type_text, length);
  return fmt::format("decltype({}<{}>({}))", names.load, length, access.pointer);
}

std::string last_name(const std::string& pointer) {
  auto begin = pointer.size();
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(pointer[begin - 1])) != 0 ||
                       pointer[begin - 1] == '_')) {
    --begin;
  }
  const auto name = pointer.substr(begin);
  return name.empty() ? "array" : name;
}

std::string if_aligned(const std::vector<VectorAccess>& accesses,
                       const std::string& length,
                       const VectorNames& names) {
  constexpr std::size_t kShort = 80;
  std::vector<std::string> checks;
  for (const auto& access : accesses)
    checks.push_back(fmt::format("{}<{}>({})", names.aligned, length, base_of(access)));
  const auto on_one_line = join(checks, " && ");
  return fmt::format("if ({}) {{\n",
                     on_one_line.size() <= kShort ? on_one_line : join(checks, " &&\n    "));
}

}  // namespace cuco::expert::kernels
