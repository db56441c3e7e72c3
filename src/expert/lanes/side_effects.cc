// SPDX-License-Identifier: Apache-2.0
#include "expert/lanes/side_effects.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "analysis/syntax_query.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::lanes {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Function;
using analysis::Syntax;

/// Functions of libraries that only look. Others might not.
bool only_looks(std::string_view name) {
  constexpr std::array<std::string_view, 22> kNames = {"data",       "get",
                                                       "size",       "begin",
                                                       "end",        "at",
                                                       "operator[]", "front",
                                                       "back",       "min",
                                                       "max",        "ceil",
                                                       "operator*",  "operator->",
                                                       "empty",      "first",
                                                       "sqrt",       "log",
                                                       "count",      "abs",
                                                       "operator+",  "raw_pointer_cast"};
  return std::ranges::find(kNames, name) != kNames.end();
}

class Repeatable {
 public:
  explicit Repeatable(const Syntax& syntax) : syntax_(syntax) {}

  bool holds(const Expression& expression, const std::set<int>& own) {
    bool repeatable = true;
    kernels::for_each_expression(expression, [&](const Expression& part) {
      repeatable = repeatable && one_holds(part, own);
    });
    return repeatable;
  }

 private:
  bool one_holds(const Expression& part, const std::set<int>& own) {
    switch (part.kind) {
      case ExpressionKind::Assign:
        return writes_own(part.operands[0], own);
      case ExpressionKind::Unary:
        return (part.name != "++" && part.name != "--") || writes_own(part.operands[0], own);
      case ExpressionKind::New:
      case ExpressionKind::Launch:
      case ExpressionKind::Lambda:
      case ExpressionKind::Block:
        return false;
      case ExpressionKind::Call:
        return part.function >= 0 && has_body(part.function) ? call_holds(part.function)
                                                             : only_looks(part.name);
      default:
        return true;
    }
  }

  static bool writes_own(const Expression& written, const std::set<int>& own) {
    return written.kind == ExpressionKind::Variable && own.contains(written.variable);
  }

  [[nodiscard]] bool has_body(int function) const {
    return syntax_.functions[static_cast<std::size_t>(function)].body.has_value();
  }

  /// All of its body; a function that is being looked at already says nothing new.
  bool call_holds(int id) {
    if (!seen_.insert(id).second) return true;
    const Function& function = syntax_.functions[static_cast<std::size_t>(id)];
    std::set<int> own;
    for (const auto& list : {function.parameters, analysis::variables_in(function)}) {
      for (const int variable : list) {
        if (!syntax_.variables[static_cast<std::size_t>(variable)].reference) own.insert(variable);
      }
    }
    bool repeatable = true;
    kernels::for_each_expression(*function.body, [&](const Expression& part) {
      repeatable = repeatable && one_holds(part, own);
    });
    return repeatable;
  }

  const Syntax& syntax_;
  std::set<int> seen_;
};

}  // namespace

bool is_repeatable(const Syntax& syntax, const Expression& expression) {
  return Repeatable(syntax).holds(expression, {});
}

}  // namespace cuco::expert::lanes
