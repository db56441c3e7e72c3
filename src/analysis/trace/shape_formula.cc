// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/shape_formula.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace cuco::analysis {
namespace {

constexpr std::size_t kMostFactors = 3;
/// Half of a width is usual, a seventh is a coincidence.
constexpr std::int64_t kMostDivisor = 8;

std::optional<std::int64_t> product(const std::vector<std::string>& names,
                                    const ShapeParameters& shape) {
  std::int64_t value = 1;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(shape, name, &ShapeParameters::value_type::first);
    if (found == shape.end()) return std::nullopt;
    if (__builtin_mul_overflow(value, found->second, &value)) return std::nullopt;
  }
  return value;
}

/// factor / divisor = value / product, where they are numbers that somebody would write.
std::optional<ShapeFormula> ratio(std::int64_t value,
                                  std::int64_t product,
                                  const std::vector<std::string>& names) {
  if (product == 0) return std::nullopt;
  const std::int64_t common = std::gcd(value, product);
  if (common == 0) return std::nullopt;
  const std::int64_t sign = product < 0 ? -1 : 1;
  ShapeFormula formula{sign * value / common, sign * product / common, names};
  if (formula.divisor > kMostDivisor) return std::nullopt;
  return formula;
}

bool gives(const ShapeFormula& formula,
           std::span<const ShapeParameters> shapes,
           std::span<const std::int64_t> values) {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (formula.at(shapes[i]) != values[i]) return false;
  }
  return true;
}

/// Products of so many parameters, each at most once, from the preferred ones on.
template <typename F>
bool for_products(const std::vector<std::string>& names,
                  std::size_t count,
                  std::size_t from,
                  std::vector<std::string>& chosen,
                  const F& take) {
  if (count == 0) return take(chosen);
  for (std::size_t i = from; i + count <= names.size(); ++i) {
    chosen.push_back(names[i]);
    const bool is_found = for_products(names, count - 1, i + 1, chosen, take);
    chosen.pop_back();
    if (is_found) return true;
  }
  return false;
}

}  // namespace

std::optional<std::int64_t> ShapeFormula::at(const ShapeParameters& shape) const {
  const auto value = product(parameters, shape);
  std::int64_t times = 0;
  if (!value || __builtin_mul_overflow(*value, factor, &times)) return std::nullopt;
  if (times % divisor != 0) return std::nullopt;
  return times / divisor;
}

std::string to_text(const ShapeFormula& formula) {
  if (formula.factor == 0 || formula.parameters.empty()) return fmt::format("{}", formula.factor);
  std::string text;
  if (formula.factor == -1) text = "-";
  if (formula.factor != 1 && formula.factor != -1) text = fmt::format("{} * ", formula.factor);
  text += fmt::format("{}", fmt::join(formula.parameters, " * "));
  if (formula.divisor != 1) text += fmt::format(" / {}", formula.divisor);
  return text;
}

std::optional<ShapeFormula> fit_formula(std::span<const ShapeParameters> shapes,
                                        std::span<const std::int64_t> values) {
  if (shapes.empty() || shapes.size() != values.size()) return std::nullopt;
  if (std::ranges::all_of(values, [&](std::int64_t value) { return value == values.front(); }))
    return ShapeFormula{values.front(), 1, {}};
  std::vector<std::string> names;
  for (const auto& [name, value] : shapes.front())
    names.push_back(name);
  std::optional<ShapeFormula> found;
  std::vector<std::string> chosen;
  for (std::size_t count = 1; count <= kMostFactors && !found; ++count) {
    for_products(names, count, 0, chosen, [&](const std::vector<std::string>& of) {
      const auto first = product(of, shapes.front());
      const auto formula = first ? ratio(values.front(), *first, of) : std::nullopt;
      if (formula && gives(*formula, shapes, values)) found = formula;
      return found.has_value();
    });
  }
  return found;
}

}  // namespace cuco::analysis
