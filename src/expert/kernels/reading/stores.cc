// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/stores.h"

#include <fmt/format.h>

#include "expert/kernels/reading/callee.h"
#include "expert/kernels/reading/place.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Statement;
using analysis::StatementKind;

class Finder {
 public:
  explicit Finder(const KernelBody& kernel) : kernel_(kernel) {}

  void see(const Statement& statement) {
    visit(statement, {[&](const Expression& expression) {
                        see(expression);
                        return true;
                      },
                      [&](const Statement& part) {
                        if (part.kind == StatementKind::Asm) refuse("inline assembly");
                        return true;
                      }});
  }

  Result<std::vector<const Expression*>> take() {
    if (!anywhere_.empty())
      return Error{ErrorKind::InvalidInput, anywhere_ + " may store anywhere"};
    return std::move(found_);
  }

 private:
  void see(const Expression& expression) {
    switch (expression.kind) {
      case ExpressionKind::Assign:
        return stored(expression.operands[0]);
      case ExpressionKind::Unary:
        if (expression.name == "++" || expression.name == "--") stored(expression.operands[0]);
        return;
      case ExpressionKind::Call:
        return called(expression);
      case ExpressionKind::Lambda:
      case ExpressionKind::Launch:
      case ExpressionKind::New:
        return refuse(fmt::format("'{}'", expression.text));
      default:
        return;
    }
  }

  void called(const Expression& call) {
    if (is_conversion(call)) return;
    if (!call.callee.empty()) return refuse(fmt::format("'{}'", call.text));
    for (std::size_t i = 0; i < call.operands.size() && i < call.writes.size(); ++i) {
      if (call.writes[i]) stored(call.operands[i]);
    }
  }

  /// A place, a variable, or a pointer that a callee is given.
  void stored(const Expression& target) {
    const Expression* at = &target;
    if (at->kind == ExpressionKind::Unary && at->name == "&") at = &at->operands[0];
    while (at->kind == ExpressionKind::Member && !at->arrow && !at->operands.empty())
      at = &at->operands[0];
    if (const auto place = read_place(*at)) {
      found_.push_back(place->pointer);
    } else if (at->kind != ExpressionKind::Variable) {
      refuse(fmt::format("'{}'", target.text));
    } else if (at->type.ends_with("*") || kernel_.variable(at->variable).reference) {
      found_.push_back(at);
    }
  }

  void refuse(std::string what) {
    if (anywhere_.empty()) anywhere_ = std::move(what);
  }

  const KernelBody& kernel_;
  std::vector<const Expression*> found_;
  std::string anywhere_;
};

}  // namespace

Result<std::vector<const Expression*>> find_stores(const KernelBody& kernel,
                                                   const Statement& statement) {
  Finder finder(kernel);
  finder.see(statement);
  return finder.take();
}

bool only_computes(const KernelBody& kernel, const Statement& statement) {
  if (statement.kind != StatementKind::Declare && statement.kind != StatementKind::Evaluate)
    return false;
  const auto stores = find_stores(kernel, statement);
  bool pure = stores && stores->empty() && !statement.span.from_macro;
  for_each_expression(statement, [&](const Expression& expression) {
    if (expression.kind != ExpressionKind::Call || is_conversion(expression)) return;
    if (talks_to_other_threads(expression.name)) pure = false;
    if (expression.function >= 0 &&
        side_effect(kernel.syntax(),
                    kernel.syntax().functions[static_cast<std::size_t>(expression.function)]))
      pure = false;
  });
  return pure;
}

bool loads(const Statement& statement) {
  bool found = false;
  for_each_expression(statement,
                      [&](const Expression& part) { found = found || read_place(part); });
  return found;
}

}  // namespace cuco::expert::kernels
