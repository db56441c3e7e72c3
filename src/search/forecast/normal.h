// SPDX-License-Identifier: Apache-2.0
/// \file
/// The normal distribution, as far as choices need it.
#pragma once

#include <cmath>
#include <numbers>

namespace cuco::search {

[[nodiscard]] inline double density(double z) {
  return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
}

[[nodiscard]] inline double cumulative(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

/// The expected improvement: the mean of what lies above the bar.
[[nodiscard]] inline double expected_above(double mean, double deviation, double bar) {
  const double z = (mean - bar) / deviation;
  return (mean - bar) * cumulative(z) + deviation * density(z);
}

}  // namespace cuco::search
