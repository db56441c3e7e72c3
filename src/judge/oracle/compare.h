// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements as numbers, and whether they are right.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "workload/workload.h"

namespace cuco::judge {

[[nodiscard]] double load_element(std::span<const std::byte> bytes,
                                  std::size_t index,
                                  workload::Element type);

/// Rounds to nearest, ties to even.
void store_element(std::span<std::byte> bytes,
                   std::size_t index,
                   workload::Element type,
                   double value);

struct Comparison {
  std::int64_t checked = 0;
  std::int64_t wrong = 0;
  std::int64_t index = -1;  ///< The first wrong element.
  double got = 0;
  double want = 0;
  double scale = 0;  ///< The largest of those that were checked.
};

/// fp32 as tf32 has it (10 bits of mantissa), bf16 as an 8-bit float (3 bits).
[[nodiscard]] double one_precision_lower(double value, workload::Element type);

/// The distance of two neighbours among the smallest numbers, which are rounded to it.
[[nodiscard]] double least_step(workload::Element type);
/// Right: finite and within the tolerance. NaN is never right, whatever is wanted.
[[nodiscard]] bool is_right(
    double got, double want, double scale, const workload::Tolerance& tolerance, double step = 0);

/// Fills want and scale for elements [first, first + want.size()).
using Reference =
    std::function<void(std::size_t first, std::span<double> want, std::span<double> scale)>;

/// Checks all elements, or, beyond `limit`, secret runs of them that `seed` chooses; those that are
/// not chosen must at least be finite.
[[nodiscard]] Comparison compare(std::span<const std::byte> output,
                                 workload::Element type,
                                 const workload::Tolerance& tolerance,
                                 const Reference& reference,
                                 std::uint64_t seed,
                                 std::size_t limit);

/// Checks every element against answers in fp32. They carry rounding errors of their own, so that
/// twice the tolerance is allowed.
[[nodiscard]] Comparison compare_with(std::span<const std::byte> output,
                                      workload::Element type,
                                      const workload::Tolerance& tolerance,
                                      std::span<const float> want,
                                      std::span<const float> scale);

/// Whether two answers to the same question may both be right, element by element: the first that
/// may not. A second opinion where the reference is too slow for all elements; coarser than it.
[[nodiscard]] std::optional<std::size_t> first_unlike(std::span<const std::byte> one,
                                                      std::span<const std::byte> other,
                                                      workload::Element type,
                                                      const workload::Tolerance& tolerance,
                                                      double scale);

}  // namespace cuco::judge
