// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/thread_index.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;

constexpr int kMaxDepth = 32;

void add(Polynomial& sum, const Product& product, long long factor) {
  const auto [known, added] = sum.try_emplace(product, factor);
  if (!added) known->second += factor;
  if (known->second == 0) sum.erase(known);
}

Polynomial product_of(const Polynomial& left, const Polynomial& right) {
  Polynomial result;
  for (const auto& [a, x] : left) {
    for (const auto& [b, y] : right) {
      Product joined = a;
      joined.insert(joined.end(), b.begin(), b.end());
      std::ranges::sort(joined);
      add(result, joined, x * y);
    }
  }
  return result;
}

Polynomial named(std::string name) {
  return {{Product{std::move(name)}, 1}};
}

Polynomial constant(long long value) {
  return value == 0 ? Polynomial{} : Polynomial{{Product{}, value}};
}

/// Lanes and warps: threadIdx.x % 32 and threadIdx.x / 32, in their usual spellings.
std::optional<std::string> part_of_block(const Expression& expression,
                                         const Polynomial& left,
                                         const Polynomial& right) {
  if (left != named("threadIdx.x") && left != named("blockDim.x")) return std::nullopt;
  const bool blocks = left == named("blockDim.x");
  const bool warp = right == constant(32) || right == named("warpSize");
  const auto& op = expression.name;
  if (!blocks && ((op == "%" && warp) || (op == "&" && right == constant(31)))) return "lane";
  if ((op == "/" && warp) || (op == ">>" && right == constant(5))) return blocks ? "warps" : "warp";
  return std::nullopt;
}

Polynomial polynomial_at(const KernelBody& kernel, const Expression& expression, int depth) {
  const auto at = [&](std::size_t i) {
    return polynomial_at(kernel, expression.operands[i], depth + 1);
  };
  if (const auto builtin = builtin_name(expression); !builtin.empty()) return named(builtin);
  if (depth > kMaxDepth) return named(expression.text);
  switch (expression.kind) {
    case ExpressionKind::Literal:
      return constant(expression.value);
    case ExpressionKind::Variable:
      if (expression.name == "warpSize") return constant(32);
      if (const auto* value = kernel.only_value(expression.variable))
        return polynomial_at(kernel, *value, depth + 1);
      return named(fmt::format("{}#{}", expression.name, expression.variable));
    case ExpressionKind::Binary: {
      const auto left = at(0);
      const auto right = at(1);
      if (expression.name == "*") return product_of(left, right);
      if (expression.name == "+" || expression.name == "-") {
        Polynomial sum = left;
        for (const auto& [product, factor] : right)
          add(sum, product, expression.name == "+" ? factor : -factor);
        return sum;
      }
      if (const auto part = part_of_block(expression, left, right)) return named(*part);
      return named(expression.text);
    }
    default:
      return named(expression.text);
  }
}

/// A digit of a mixed-radix number, and how many values it has.
struct Digit {
  std::string_view index, count;
};

constexpr std::array kDigits{Digit{"threadIdx.x", "blockDim.x"},
                             Digit{"threadIdx.y", "blockDim.y"},
                             Digit{"threadIdx.z", "blockDim.z"},
                             Digit{"blockIdx.x", "gridDim.x"},
                             Digit{"blockIdx.y", "gridDim.y"},
                             Digit{"blockIdx.z", "gridDim.z"},
                             Digit{"warp", "warps"}};

}  // namespace

Polynomial polynomial(const KernelBody& kernel, const Expression& expression) {
  return polynomial_at(kernel, expression, 0);
}

std::optional<Polynomial> threads_counted_by(const Polynomial& start) {
  Polynomial left = start;
  Polynomial radix = constant(1);
  if (left == named("lane")) return constant(32);
  if (left.empty()) return std::nullopt;
  while (!left.empty()) {
    const auto next = std::ranges::find_if(kDigits, [&](const Digit& digit) {
      const auto term = product_of(radix, named(std::string(digit.index)));
      const auto found = left.find(term.begin()->first);
      return found != left.end() && found->second == term.begin()->second;
    });
    if (next == kDigits.end()) return std::nullopt;
    left.erase(product_of(radix, named(std::string(next->index))).begin()->first);
    radix = product_of(radix, named(std::string(next->count)));
  }
  return radix;
}

std::string to_text(const Polynomial& polynomial) {
  std::vector<std::string> terms;
  for (const auto& [product, factor] : polynomial) {
    auto names = product;
    if (factor != 1 || names.empty()) names.insert(names.begin(), std::to_string(factor));
    for (auto& name : names) {
      if (name == "warps") name = "(blockDim.x / 32)";
    }
    std::ranges::reverse(names);
    terms.push_back(join(names, " * "));
  }
  return join(terms, " + ");
}

}  // namespace cuco::expert::kernels
