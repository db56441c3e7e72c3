// SPDX-License-Identifier: Apache-2.0
#include "judge/score.h"

#include <algorithm>
#include <cmath>

namespace cuco::judge {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

candidate::ShapeTime shape_time(const workload::Shape& shape,
                                double seconds,
                                double baseline_seconds,
                                const measure::Bound& bound) {
  candidate::ShapeTime time{.shape = shape.name,
                            .seconds = seconds,
                            // A point: whoever knows better says so.
                            .speedup = {baseline_seconds / seconds, baseline_seconds / seconds},
                            .baseline_seconds = baseline_seconds,
                            .bound_seconds = bound.seconds,
                            .limited_by = bound.limited_by};
  time.limits = {{"math", bound.flops_seconds}, {"HBM", bound.hbm_seconds}};
  if (bound.wire_seconds > 0) time.limits.push_back({"links", bound.wire_seconds});
  return time;
}

candidate::Interval mean_of(const std::vector<candidate::Interval>& intervals) {
  // An interval may not exclude that a program is any number of times slower.
  constexpr double kLeast = 1e-6;
  const auto count = static_cast<double>(intervals.size());
  double low = 0;
  double high = 0;
  for (const candidate::Interval& interval : intervals) {
    low += std::log(std::max(interval.low, kLeast)) / count;
    high += std::log(std::max(interval.high, kLeast)) / count;
  }
  return {std::exp(low), std::exp(high)};
}

void sum_up(candidate::Scored* scored) {
  const auto count = static_cast<double>(scored->shapes.size());
  double seconds = 0;
  double baseline_seconds = 0;
  double bound_seconds = 0;
  std::vector<candidate::Interval> speedups;
  for (const candidate::ShapeTime& time : scored->shapes) {
    speedups.push_back(time.speedup);
    seconds += std::log(time.seconds) / count;
    baseline_seconds += std::log(time.baseline_seconds) / count;
    bound_seconds += std::log(time.bound_seconds) / count;
  }
  scored->speedup = mean_of(speedups);
  scored->seconds = std::exp(seconds);
  scored->baseline_seconds = std::exp(baseline_seconds);
  scored->bound_seconds = std::exp(bound_seconds);
  scored->score = measure::score(scored->seconds, scored->baseline_seconds, scored->bound_seconds);
}

}  // namespace cuco::judge
