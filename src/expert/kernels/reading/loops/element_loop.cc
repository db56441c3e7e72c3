// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/loops/element_loop.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Span;
using analysis::Statement;
using analysis::StatementKind;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

bool names(const Expression& expression, int variable) {
  return expression.kind == ExpressionKind::Variable && expression.variable == variable;
}

/// index < limit, in either order, or its contrary.
struct Bound {
  int index = -1;
  const Expression* limit = nullptr;
};

std::optional<Bound> read_bound(const Expression& condition, bool contrary) {
  if (condition.kind != ExpressionKind::Binary) return std::nullopt;
  const auto& left = condition.operands[0];
  const auto& right = condition.operands[1];
  const std::string_view forward = contrary ? ">=" : "<";
  const std::string_view backward = contrary ? "<=" : ">";
  if (condition.name == forward && left.kind == ExpressionKind::Variable)
    return Bound{left.variable, &right};
  if (condition.name == backward && right.kind == ExpressionKind::Variable)
    return Bound{right.variable, &left};
  return std::nullopt;
}

/// "i += step" or "i = i + step".
const Expression* read_step(const Statement& statement, int index) {
  if (statement.kind != StatementKind::Evaluate || !statement.value) return nullptr;
  const auto& value = *statement.value;
  if (value.kind != ExpressionKind::Assign || !names(value.operands[0], index)) return nullptr;
  const auto& right = value.operands[1];
  if (value.name == "+=") return &right;
  if (value.name != "=" || right.kind != ExpressionKind::Binary || right.name != "+")
    return nullptr;
  if (names(right.operands[0], index)) return &right.operands[1];
  return names(right.operands[1], index) ? &right.operands[0] : nullptr;
}

/// "int i = start" or "i = start".
const Expression* read_start(const Statement& statement, int index) {
  for (const auto& declared : statement.declared) {
    if (declared.variable == index && declared.value) return &*declared.value;
  }
  if (statement.kind != StatementKind::Evaluate || !statement.value) return nullptr;
  const auto& value = *statement.value;
  const bool sets =
      value.kind == ExpressionKind::Assign && value.name == "=" && names(value.operands[0], index);
  return sets ? &value.operands[1] : nullptr;
}

/// The threads that share the loop: those that its start counts, all of which it must step over.
Result<Polynomial> sharing_threads(const KernelBody& kernel,
                                   const Expression& start,
                                   const Expression* step) {
  const auto threads = threads_counted_by(polynomial(kernel, start));
  if (!threads) return no(fmt::format("'{}' does not number threads from 0", start.text));
  if (step != nullptr && polynomial(kernel, *step) != *threads) {
    return no(fmt::format("the step '{}' is not the number of threads that '{}' counts, {}",
                          step->text, start.text, to_text(*threads)));
  }
  return *threads;
}

/// The statements of a body that is a block, or the one that it is.
void set_body(const Statement& body, ElementLoop& loop) {
  if (body.kind == StatementKind::Block) {
    for (const auto& statement : body.statements)
      loop.body.push_back(&statement);
    loop.body_text = {.begin = body.span.begin + 1, .end = body.span.end - 1};
  } else {
    loop.body = {&body};
    loop.body_text = body.span;
  }
}

/// A header that changes its own limit would end the loop somewhere else.
Result<void> check_index_and_limit(const ElementLoop& loop) {
  for (const auto* statement : loop.body) {
    const auto changed = assigned_in(*statement);
    if (changed.contains(loop.index)) return no("the loop's body changes its index");
    for (const int variable : variables_of(*loop.limit)) {
      if (changed.contains(variable)) return no("the loop's body changes its limit");
    }
  }
  return {};
}

Result<ElementLoop> read_for(const KernelBody& kernel, const Statement& statement) {
  ElementLoop loop{.form = LoopForm::For, .statement = &statement, .replaced = statement.span};
  const auto& header = statement.header;
  if (!header[1].value) return no("the loop has no condition of the form i < n");
  const auto bound = read_bound(*header[1].value, false);
  if (!bound) return no("the loop has no condition of the form i < n");
  loop.index = bound->index;
  loop.limit = bound->limit;
  loop.start = read_start(header[0], loop.index);
  loop.declares_index = !header[0].declared.empty();
  const auto* step = read_step(header[2], loop.index);
  if (loop.start == nullptr || step == nullptr || header[0].declared.size() > 1)
    return no("the loop's header does not start and step one index");
  CUCO_TRY_ASSIGN(loop.threads, sharing_threads(kernel, *loop.start, step));
  loop.step = step->text;
  set_body(statement.statements.back(), loop);
  return loop;
}

/// The index is set by the statement before the loop and stepped by the last one in it.
Result<ElementLoop> read_while(const KernelBody& kernel,
                               const Statement& statement,
                               const Statement* before) {
  ElementLoop loop{.form = LoopForm::While, .statement = &statement, .replaced = statement.span};
  const auto bound = read_bound(*statement.header[0].value, false);
  if (!bound) return no("the loop has no condition of the form i < n");
  loop.index = bound->index;
  loop.limit = bound->limit;
  loop.start = before == nullptr ? nullptr : read_start(*before, loop.index);
  if (loop.start == nullptr) return no("the index is not set just before the loop");
  set_body(statement.statements.back(), loop);
  const auto* step = loop.body.empty() ? nullptr : read_step(*loop.body.back(), loop.index);
  if (step == nullptr) return no("the loop does not end with a step of its index");
  CUCO_TRY_ASSIGN(loop.threads, sharing_threads(kernel, *loop.start, step));
  loop.step = step->text;
  loop.body_text.end = loop.body.back()->span.begin;
  loop.body.pop_back();
  return loop;
}

bool only_returns(const Statement& statement) {
  if (statement.kind == StatementKind::Return) return true;
  return statement.kind == StatementKind::Block && statement.statements.size() == 1 &&
         only_returns(statement.statements[0]);
}

/// The conjunct that bounds an index that counts threads, and the others.
struct Guard {
  Bound bound;
  std::vector<std::string> others;
};

std::optional<Guard> read_guard(const KernelBody& kernel,
                                const Expression& condition,
                                bool leaves) {
  const std::string_view joint = leaves ? "||" : "&&";
  std::vector<const Expression*> parts = {&condition};
  for (std::size_t i = 0; i < parts.size();) {
    if (parts[i]->kind == ExpressionKind::Binary && parts[i]->name == joint) {
      const auto* whole = parts[i];
      parts[i] = &whole->operands[0];
      parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1, &whole->operands[1]);
    } else {
      ++i;
    }
  }
  std::optional<Guard> found;
  for (const auto* part : parts) {
    const auto bound = read_bound(*part, leaves);
    const auto* start = bound ? kernel.only_value(bound->index) : nullptr;
    // Neighbouring elements go to neighbouring threads only along x.
    const auto counted = start == nullptr ? Polynomial{} : polynomial(kernel, *start);
    if (!found && counted.contains(Product{"threadIdx.x"}) && threads_counted_by(counted)) {
      found = Guard{*bound, {}};
      for (const auto* other : parts) {
        if (other == part) continue;
        if (variables_of(*other).contains(bound->index)) return std::nullopt;
        found->others.push_back(leaves ? fmt::format("!({})", other->text) : other->text);
      }
    }
  }
  return found;
}

Result<ElementLoop> read_guarded(const KernelBody& kernel,
                                 const Statement& block,
                                 std::size_t position) {
  const auto& statement = block.statements[position];
  if (statement.statements.size() != 1 || !statement.header.empty() || !statement.value)
    return no("the bounds check has an else");
  const bool leaves = only_returns(statement.statements[0]);
  const auto guard = read_guard(kernel, *statement.value, leaves);
  if (!guard) return no("no bounds check of an index that counts threads");
  ElementLoop loop{.form = LoopForm::Guarded, .statement = &statement};
  loop.replaced = statement.span;
  loop.index = guard->bound.index;
  loop.limit = guard->bound.limit;
  loop.start = kernel.only_value(loop.index);
  loop.other_condition = join(guard->others, " && ");
  CUCO_TRY_ASSIGN(loop.threads, sharing_threads(kernel, *loop.start, nullptr));
  loop.step = to_text(loop.threads);
  if (!leaves) {
    set_body(statement.statements[0], loop);
    return loop;
  }
  if (&block != &kernel.body()) return no("the bounds check leaves the kernel from an inner block");
  for (std::size_t i = position + 1; i < block.statements.size(); ++i)
    loop.body.push_back(&block.statements[i]);
  loop.body_text = {.begin = statement.span.end, .end = block.span.end - 1};
  loop.replaced.end = loop.body_text.end;
  return loop;
}

}  // namespace

Result<ElementLoop> read_element_loop(const KernelBody& kernel,
                                      const Statement& block,
                                      std::size_t position,
                                      std::string_view text) {
  const auto& statement = block.statements[position];
  if (statement.span.from_macro || statement.span.elsewhere)
    return no("the loop is written by a macro");
  Result<ElementLoop> loop = no("no loop over elements");
  if (statement.kind == StatementKind::If) {
    loop = read_guarded(kernel, block, position);
  } else if (statement.kind == StatementKind::Loop && statement.each < 0 &&
             statement.statements.size() == 1 && !statement.text.empty()) {
    if (statement.header.size() == 3) loop = read_for(kernel, statement);
    if (statement.header.size() == 1 && statement.header[0].value)
      loop =
          read_while(kernel, statement, position > 0 ? &block.statements[position - 1] : nullptr);
  }
  if (!loop) return loop;
  CUCO_TRY(check_index_and_limit(*loop));
  const auto body = text.substr(loop->body_text.begin, loop->body_text.end - loop->body_text.begin);
  for (const auto line : split(body, '\n')) {
    if (trim(line).starts_with('#') && !trim(line).starts_with("#pragma unroll"))
      return no("the loop's body has preprocessor lines");
  }
  return loop;
}

}  // namespace cuco::expert::kernels
