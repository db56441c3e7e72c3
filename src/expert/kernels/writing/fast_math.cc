// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/writing/fast_math.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/kernels/reading/place.h"
#include "expert/kernels/reading/subscript.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Span;
using analysis::Statement;

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kIntrinsics = {
    {{"expf", "__expf"},
     {"exp", "__expf"},
     {"logf", "__logf"},
     {"log", "__logf"},
     {"log2f", "__log2f"},
     {"log2", "__log2f"},
     {"powf", "__powf"},
     {"pow", "__powf"}}};

bool is_visible(const Span& span) {
  return !span.from_macro && !span.elsewhere;
}

bool is_constant(const Expression& expression) {
  bool constant = true;
  for_each_expression(expression, [&](const Expression& part) {
    constant = constant && part.kind != ExpressionKind::Variable &&
               part.kind != ExpressionKind::Call && part.kind != ExpressionKind::Member;
  });
  return constant;
}

/// Where the operator of a division stands; nothing if there is more than that between its
/// operands.
std::optional<Span> slash(const Expression& division, std::string_view text) {
  const auto begin = division.operands[0].span.end;
  const auto end = division.operands[1].span.begin;
  if (begin >= end || trim(text.substr(begin, end - begin)) != "/") return std::nullopt;
  return Span{.begin = begin, .end = end};
}

/// A quotient of floats, or of a float and an integer, with a divisor that is not known yet.
bool is_float_division(const Expression& expression) {
  if (expression.kind != ExpressionKind::Binary || expression.name != "/" ||
      expression.type != "float")
    return false;
  const auto fits = [](const Expression& operand) {
    return operand.type == "float" || operand.type == "int" || operand.type == "unsigned int";
  };
  return fits(expression.operands[0]) && fits(expression.operands[1]) &&
         !is_constant(expression.operands[1]) &&
         std::ranges::all_of(expression.operands,
                             [](const Expression& part) { return is_visible(part.span); });
}

bool is_call_of(const Expression& call, std::string_view name, std::string_view text) {
  return call.kind == ExpressionKind::Call && call.function < 0 && call.name == name &&
         is_visible(call.span) &&
         text.substr(call.span.begin, name.size() + 1) == fmt::format("{}(", name);
}

bool is_one(const Expression& expression) {
  return expression.text == "1.0f" || expression.text == "1.f" || expression.text == "1";
}

class FastMath {
 public:
  FastMath(std::string_view text, const std::set<const Expression*>& except)
      : text_(text), except_(except) {}

  bool see(const Expression& expression) {
    if (expression.type == "float" && call(expression)) return true;
    if (except_.contains(&expression)) return true;
    if (inverse_root(expression)) return false;
    if (is_float_division(expression)) divide(expression);
    if (expression.kind == ExpressionKind::Assign && expression.name == "/=")
      divide_into(expression);
    return true;
  }

  std::vector<Replacement> take() { return std::move(made_); }

 private:
  bool call(const Expression& expression) {
    for (const auto& [name, intrinsic] : kIntrinsics) {
      const bool floats = std::ranges::all_of(
          expression.operands, [](const Expression& part) { return part.type == "float"; });
      if (!floats || !is_call_of(expression, name, text_)) continue;
      const auto begin = expression.span.begin;
      made_.push_back({begin, begin + name.size(), std::string(intrinsic)});
      return true;
    }
    return false;
  }

  /// 1 / sqrt(x).
  bool inverse_root(const Expression& expression) {
    if (!is_float_division(expression) || !is_one(expression.operands[0])) return false;
    const auto& root = expression.operands[1];
    for (const std::string_view name : {"sqrtf", "sqrt"}) {
      if (!is_call_of(root, name, text_) || root.operands.size() != 1 ||
          root.operands[0].type != "float" || !slash(expression, text_))
        continue;
      made_.push_back({expression.operands[0].span.begin, root.span.begin + name.size(), "rsqrtf"});
      visit(root.operands[0], {[this](const Expression& part) { return see(part); }, {}});
      return true;
    }
    return false;
  }

  void divide(const Expression& division) {
    const auto between = slash(division, text_);
    if (!between) return;
    const auto begin = division.operands[0].span.begin;
    const auto end = division.operands[1].span.end;
    made_.push_back({begin, begin, "__fdividef("});
    made_.push_back({between->begin, between->end, ", "});
    made_.push_back({end, end, ")"});
  }

  /// x /= y.
  void divide_into(const Expression& assign) {
    const auto& divisor = assign.operands[1];
    const auto begin = assign.operands[0].span.end;
    const auto end = divisor.span.begin;
    if (assign.operands[0].type != "float" || divisor.type != "float" || is_constant(divisor) ||
        !is_visible(assign.span) || !is_visible(divisor.span) || begin >= end ||
        trim(text_.substr(begin, end - begin)) != "/=")
      return;
    made_.push_back({begin, end, " *= __fdividef(1.0f, "});
    made_.push_back({divisor.span.end, divisor.span.end, ")"});
  }

  std::string_view text_;
  const std::set<const Expression*>& except_;
  std::vector<Replacement> made_;
};

/// Made of values that no round changes, and cheap to have before the first one.
bool is_steady(const KernelBody& kernel,
               const ElementLoop& loop,
               const Expression& expression,
               const std::set<int>& own) {
  bool steady = !depends_on(kernel, expression, loop.index);
  for_each_expression(expression, [&](const Expression& part) {
    if (part.kind == ExpressionKind::Call || part.kind == ExpressionKind::Assign) steady = false;
    // Another thread may have stored there.
    if (read_place(part)) steady = false;
    if (part.kind == ExpressionKind::Variable && own.contains(part.variable)) steady = false;
  });
  return steady;
}

}  // namespace

std::vector<Replacement> use_fast_math(const Statement& body,
                                       std::string_view text,
                                       const std::set<const Expression*>& except) {
  FastMath math(text, except);
  visit(body, {[&](const Expression& expression) { return math.see(expression); }, {}});
  return math.take();
}

Inverses hoist_divisors(const KernelBody& kernel,
                        const ElementLoop& loop,
                        std::string_view text,
                        const std::vector<Replacement>& everywhere,
                        FreshNames& fresh) {
  Inverses made;
  std::set<int> own;
  for (const auto* statement : loop.body) {
    own.merge(declared_in(*statement));
    own.merge(assigned_in(*statement));
  }
  std::map<std::string, std::string> known;
  const auto see = [&](const Expression& expression) {
    if (!is_float_division(expression) || !slash(expression, text)) return;
    const auto& divisor = expression.operands[1];
    if (!is_steady(kernel, loop, divisor, own)) return;
    const auto value = render(text, divisor.span.begin, divisor.span.end, everywhere);
    auto& name = known[value];
    if (name.empty()) {
      name = fresh.make("inverse");
      made.declarations += fmt::format("const float {} = __fdividef(1.0f, {});\n", name, value);
    }
    const auto& dividend = expression.operands[0].span;
    made.divisions.insert(&expression);
    if (is_one(expression.operands[0])) {
      made.replacements.push_back({dividend.begin, divisor.span.end, name});
    } else {
      made.replacements.push_back({dividend.end, divisor.span.end, " * " + name});
    }
  };
  for (const auto* statement : loop.body)
    for_each_expression(*statement, see);
  return made;
}

}  // namespace cuco::expert::kernels
