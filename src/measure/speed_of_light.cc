// SPDX-License-Identifier: Apache-2.0
#include "measure/speed_of_light.h"

#include <algorithm>

namespace cuco::measure {
namespace {

/// Clocks and rates are known to about this much.
constexpr double kTolerance = 0.02;

double time_of(double amount, double rate) {
  return amount > 0 && rate > 0 ? amount / rate : 0;
}

}  // namespace

Bound speed_of_light(const Demand& demand, const Peak& peak) {
  Bound bound;
  bound.flops_seconds = time_of(demand.flops, peak.flops);
  bound.hbm_seconds = time_of(demand.hbm_bytes, peak.hbm_bytes);
  bound.wire_seconds = time_of(demand.wire_bytes, peak.wire_bytes);
  if (bound.wire_seconds > 0) bound.wire_seconds += peak.latency_seconds;
  const double longest = std::max({bound.flops_seconds, bound.hbm_seconds, bound.wire_seconds});
  bound.seconds = peak.launch_seconds + longest;
  bound.limited_by = peak.launch_seconds > longest                             ? "launch"
                     : longest == bound.wire_seconds && bound.wire_seconds > 0 ? "links"
                     : longest == bound.hbm_seconds                            ? "HBM"
                                                                               : "math";
  return bound;
}

double score(double seconds, double baseline_seconds, double bound_seconds) {
  if (baseline_seconds <= bound_seconds) return seconds <= bound_seconds ? 1 : 0;
  if (seconds <= bound_seconds) return 1;
  return 1 / (1 + (seconds - bound_seconds) / (baseline_seconds - bound_seconds));
}

bool is_too_fast(double seconds, double bound_seconds) {
  return seconds < bound_seconds * (1 - kTolerance);
}

}  // namespace cuco::measure
