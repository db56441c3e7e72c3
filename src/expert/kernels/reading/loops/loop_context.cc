// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/loops/loop_context.h"

#include <algorithm>

#include <fmt/format.h>

#include "expert/kernels/reading/place.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Span;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

bool is_place(const Expression& expression) {
  return expression.kind == ExpressionKind::Index ||
         (expression.kind == ExpressionKind::Unary && expression.name == "*");
}

class Context {
 public:
  Context(const KernelBody& kernel, const ElementLoop& loop) : loop_(loop) {
    for_each_expression(kernel.body(), [&](const Expression& expression) {
      if (expression.kind == ExpressionKind::Call && expression.name == "__syncthreads")
        barriers_.push_back(expression.span.begin);
    });
  }

  [[nodiscard]] bool outside(const Span& span) const {
    return span.end <= loop_.replaced.begin || span.begin >= loop_.replaced.end;
  }

  [[nodiscard]] bool separated(const Span& span) const {
    const auto from = std::min(span.begin, loop_.replaced.end);
    const auto to = std::max(span.begin, loop_.replaced.begin);
    return std::ranges::any_of(barriers_, [&](auto at) { return at > from && at < to; });
  }

 private:
  const ElementLoop& loop_;
  std::vector<std::size_t> barriers_;
};

/// The pointers of the loop's accesses, as variables.
std::set<int> roots(const KernelBody& kernel, const LoopAccesses& accesses, bool written) {
  std::set<int> found;
  for_each_expression(kernel.body(), [&](const Expression& expression) {
    if (!is_place(expression)) return;
    for (const auto& access : accesses.accesses) {
      const bool here = std::ranges::any_of(
          access.places, [&](const Span& place) { return place.begin == expression.span.begin; });
      if (here && access.written == written) found.insert(root_of(expression));
    }
  });
  found.erase(-1);
  return found;
}

}  // namespace

Result<void> check_context(const KernelBody& kernel,
                           const ElementLoop& loop,
                           const LoopAccesses& accesses) {
  const Context context(kernel, loop);
  const auto written = roots(kernel, accesses, true);
  const auto read = roots(kernel, accesses, false);
  std::string problem;
  const auto note = [&](std::string text) {
    if (problem.empty()) problem = std::move(text);
  };
  for_each_expression(kernel.body(), [&](const Expression& expression) {
    if (!context.outside(expression.span)) return;
    // The same memory elsewhere in the kernel, without a barrier between.
    if (is_place(expression) && written.contains(root_of(expression)) &&
        !context.separated(expression.span)) {
      note(
          fmt::format("'{}' is used outside of the loop with no barrier between", expression.text));
    }
    if (expression.kind != ExpressionKind::Assign) return;
    const auto& target = expression.operands[0];
    if (!is_place(target)) return;
    if (read.contains(root_of(target)) && !context.separated(expression.span)) {
      note(fmt::format("'{}' is stored outside of the loop with no barrier between", target.text));
    }
    // A thread's own part of a sum, which is another part now.
    const bool global = !target.operands.empty() && target.operands[0].type.ends_with("*");
    for (const int id : variables_of(expression.operands[1])) {
      if (!global || !accesses.reductions.contains(id)) continue;
      const auto inside = std::ranges::count_if(
          loop.body, [&](const auto* statement) { return assigned_in(*statement).contains(id); });
      if (kernel.assignments(id) <= inside)
        note(fmt::format("each thread's own '{}' is stored", kernel.variable(id).name));
    }
  });
  // The index of a while loop ends up elsewhere.
  if (loop.form == LoopForm::While || (loop.form == LoopForm::For && !loop.declares_index)) {
    for_each_expression(kernel.body(), [&](const Expression& expression) {
      if (expression.kind == ExpressionKind::Variable && expression.variable == loop.index &&
          expression.span.begin >= loop.replaced.end)
        note("the index is used after the loop");
    });
  }
  if (!problem.empty()) return no(problem);
  return {};
}

}  // namespace cuco::expert::kernels
