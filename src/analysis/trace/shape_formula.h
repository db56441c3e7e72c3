// SPDX-License-Identifier: Apache-2.0
/// \file
/// A number that was seen for several shapes, as a formula of the shapes' parameters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cuco::analysis {

/// By name, in the order in which they are preferred: a workload's parameters, then the grid's.
using ShapeParameters = std::vector<std::pair<std::string, std::int64_t>>;

/// factor / divisor times a product of parameters.
struct ShapeFormula {
  std::int64_t factor = 0;
  std::int64_t divisor = 1;
  std::vector<std::string> parameters;  ///< None: a constant.

  /// Nothing where it is not whole.
  [[nodiscard]] std::optional<std::int64_t> at(const ShapeParameters& shape) const;
  auto operator<=>(const ShapeFormula&) const = default;
};

/// "128 * n"; "0".
[[nodiscard]] std::string to_text(const ShapeFormula& formula);

/// The simplest one that gives these values: a constant, else a multiple of one parameter, then of
/// products of two and three. Nothing if there is none. `shapes` all have the same names.
[[nodiscard]] std::optional<ShapeFormula> fit_formula(std::span<const ShapeParameters> shapes,
                                                      std::span<const std::int64_t> values);

}  // namespace cuco::analysis
