// SPDX-License-Identifier: Apache-2.0
#include "judge/score.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::judge {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double typical(const std::vector<double>& seconds, const workload::Shape& shape) {
  const bool is_scaled = shape.divisor != hardware::Divisor{};
  return is_scaled ? *std::ranges::min_element(seconds) : median(seconds);
}

std::optional<std::string> scale_warning(const candidate::ShapeTime& time) {
  constexpr double kAgreed = 0.1;
  const candidate::ScaleModel& model = time.scale_model;
  if (model.factor <= 1) return std::nullopt;
  if (model.smaller_factor == 0) {
    return fmt::format("{}: its scale model has no smaller one to compare it with: {}", time.shape,
                       model.why_alone);
  }
  const double difference = model.difference(time.seconds);
  if (std::abs(difference) <= kAgreed) return std::nullopt;
  return fmt::format(
      "{}: scale models disagree by {:+.0f} %: {} divided by {:.3g} ({:.3g} blocks per SM), {} by "
      "{:.3g} ({:.3g})",
      time.shape, 100 * difference, human_seconds(time.seconds), model.factor,
      model.filling.blocks_per_sm, human_seconds(model.smaller_seconds), model.smaller_factor,
      model.smaller_filling.blocks_per_sm);
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

std::optional<std::string> count_watched(double watched_seconds, candidate::ShapeTime* time) {
  // Iterations use different buffers, which may differ a little.
  constexpr double kAlike = 1.03;
  if (watched_seconds <= kAlike * time->seconds) return std::nullopt;
  auto warning = fmt::format(
      "{}: takes {} where it is timed and {} where the checker watches, which is what counts",
      time->shape, human_seconds(time->seconds), human_seconds(watched_seconds));
  time->seconds = watched_seconds;
  const double speedup = time->baseline_seconds / watched_seconds;
  time->speedup = {speedup, speedup};
  return warning;
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

namespace {

/// Full shapes decide, where they were timed: small ones are bound by launches and latencies.
std::vector<const candidate::ShapeTime*> deciding(const std::vector<candidate::ShapeTime>& shapes) {
  std::vector<const candidate::ShapeTime*> all;
  std::vector<const candidate::ShapeTime*> full;
  for (const candidate::ShapeTime& time : shapes) {
    all.push_back(&time);
    if (time.scale_model.is_used()) full.push_back(&time);
  }
  return full.empty() ? all : full;
}

}  // namespace

void sum_up(candidate::Scored* scored) {
  const auto shapes = deciding(scored->shapes);
  const auto count = static_cast<double>(shapes.size());
  double seconds = 0;
  double baseline_seconds = 0;
  double bound_seconds = 0;
  std::vector<candidate::Interval> speedups;
  for (const candidate::ShapeTime* time : shapes) {
    speedups.push_back(time->speedup);
    seconds += std::log(time->seconds) / count;
    baseline_seconds += std::log(time->baseline_seconds) / count;
    bound_seconds += std::log(time->bound_seconds) / count;
  }
  scored->speedup = mean_of(speedups);
  scored->seconds = std::exp(seconds);
  scored->baseline_seconds = std::exp(baseline_seconds);
  scored->bound_seconds = std::exp(bound_seconds);
  scored->score = measure::score(scored->seconds, scored->baseline_seconds, scored->bound_seconds);
}

}  // namespace cuco::judge
