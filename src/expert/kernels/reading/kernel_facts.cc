// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/kernel_facts.h"

#include <algorithm>
#include <charconv>

#include "expert/kernels/reading/callee.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Statement;
using analysis::StatementKind;

/// The shortest dimension of "float[8][32]"; 0 where one has no length.
long long shortest_dimension(const std::string& type) {
  long long shortest = -1;
  for (auto at = type.find('['); at != std::string::npos; at = type.find('[', at + 1)) {
    long long length = 0;
    std::from_chars(type.data() + at + 1, type.data() + type.size(), length);
    shortest = shortest < 0 ? length : std::min(shortest, length);
  }
  return std::max(shortest, 0LL);
}

bool is_builtin_object(const Expression& expression) {
  return expression.kind == ExpressionKind::Variable &&
         (expression.name == "threadIdx" || expression.name == "blockIdx" ||
          expression.name == "blockDim" || expression.name == "gridDim");
}

class Finder {
 public:
  Finder(const KernelBody& kernel, std::string_view text) : kernel_(kernel), text_(text) {}

  KernelFacts find() {
    const auto& span = kernel_.body().span;
    const auto body = text_.substr(span.begin, span.end - span.begin);
    facts_.shared = body.find("__shared__") != std::string_view::npos;
    visit(kernel_.body(), {[&](const Expression& expression) { return see(expression, false); },
                           [&](const Statement& statement) {
                             // Assembly may do anything.
                             if (statement.kind == StatementKind::Asm) facts_.shared = true;
                             for (const auto& declared : statement.declared) {
                               if (kernel_.variable(declared.variable).type.ends_with("[]"))
                                 facts_.sized_by_launch = true;
                             }
                             return true;
                           }});
    return std::move(facts_);
  }

 private:
  bool see(const Expression& expression, bool elsewhere) {
    if (const auto name = builtin_name(expression); !name.empty()) {
      facts_.builtins.insert(name);
      if (elsewhere) {
        facts_.in_callees.insert(name);
      } else if (!is_written(expression, name)) {
        facts_.in_macros.insert(name);
      }
      return false;
    }
    if (is_builtin_object(expression)) {
      for (const char* axis : {".x", ".y", ".z"}) {
        facts_.builtins.insert(expression.name + axis);
        facts_.in_callees.insert(expression.name + axis);
      }
    }
    if (expression.kind == ExpressionKind::Call) see_call(expression, elsewhere);
    if (expression.kind == ExpressionKind::Index && !elsewhere) see_subscript(expression);
    return true;
  }

  [[nodiscard]] bool is_written(const Expression& expression, std::string_view name) const {
    const auto& span = expression.span;
    return !span.elsewhere &&
           text_.substr(span.begin, span.end - span.begin).find(name) != std::string_view::npos;
  }

  void see_call(const Expression& call, bool elsewhere) {
    const bool atomic = call.name.starts_with("atomic");
    facts_.atomics = facts_.atomics || atomic;
    if (talks_to_other_threads(call.name) && !atomic) facts_.shared = true;
    // A member call such as group.sync().
    if (!call.callee.empty() && !is_conversion(call)) facts_.shared = true;
    if (call.function < 0 || elsewhere) return;
    const auto& callee = kernel_.syntax().functions[static_cast<std::size_t>(call.function)];
    if (side_effect(kernel_.syntax(), callee)) facts_.shared = true;
    see_callee(callee);
  }

  void see_callee(const analysis::Function& callee) {
    if (!callee.body || !seen_.insert(&callee).second) return;
    visit(
        *callee.body,
        {[&](const Expression& expression) {
           if (expression.kind == ExpressionKind::Call && expression.function >= 0)
             see_callee(kernel_.syntax().functions[static_cast<std::size_t>(expression.function)]);
           return see(expression, true);
         },
         {}});
  }

  /// a[i], or a[i][j] from its outermost subscript on.
  void see_subscript(const Expression& expression) {
    const Expression* array = &expression;
    bool by_thread = false;
    while (array->kind == ExpressionKind::Index) {
      by_thread = by_thread || kernel_.is_made_of(array->operands[1], "threadIdx.x");
      array = &array->operands[0];
    }
    if (by_thread && array->kind == ExpressionKind::Variable &&
        array->type.find('[') != std::string::npos)
      facts_.per_thread[array->variable] = shortest_dimension(array->type);
  }

  const KernelBody& kernel_;
  std::string_view text_;
  KernelFacts facts_;
  std::set<const analysis::Function*> seen_;
};

}  // namespace

KernelFacts find_facts(const KernelBody& kernel, std::string_view text) {
  return Finder(kernel, text).find();
}

}  // namespace cuco::expert::kernels
