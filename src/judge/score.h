// SPDX-License-Identifier: Apache-2.0
/// \file
/// From times on shapes to one score.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "candidate/outcome.h"
#include "measure/speed_of_light.h"
#include "workload/workload.h"

namespace cuco::judge {

[[nodiscard]] double median(std::vector<double> values);
/// What an iteration takes: the median. A scale model has two iterations, of which the first loads
/// the code: the shorter one.
[[nodiscard]] double typical(const std::vector<double>& seconds, const workload::Shape& shape);

/// Where two scale models of a full shape do not agree: by how much.
[[nodiscard]] std::optional<std::string> scale_warning(const candidate::ShapeTime& time);

/// A time with its place under the roofline: which resource is the bound, and how far the others
/// are.
[[nodiscard]] candidate::ShapeTime shape_time(const workload::Shape& shape,
                                              double seconds,
                                              double baseline_seconds,
                                              const measure::Bound& bound);

/// Of the geometric mean of values that lie in these.
[[nodiscard]] candidate::Interval mean_of(const std::vector<candidate::Interval>& intervals);

/// A program that is slower under the eyes of the checker does something else there, whatever it
/// knows them by: then that time counts, and the warning says so.
[[nodiscard]] std::optional<std::string> count_watched(double watched_seconds,
                                                       candidate::ShapeTime* time);

/// Fills in what follows from the shapes: geometric means, and the score.
void sum_up(candidate::Scored* scored);

}  // namespace cuco::judge
