// SPDX-License-Identifier: Apache-2.0
/// \file
/// The speed-of-light bound, and the score that is relative to it.
#pragma once

#include <string>

namespace cuco::measure {

/// The least work of one iteration, on the rank with the most.
struct Demand {
  double flops = 0;
  double hbm_bytes = 0;
  double wire_bytes = 0;
};

/// Peak rates of the hardware, per second.
struct Peak {
  double flops = 0;  ///< Of the demand's type.
  double hbm_bytes = 0;
  double wire_bytes = 0;       ///< 0: there are no links.
  double latency_seconds = 0;  ///< Of one message; counts once if anything is sent.
  double launch_seconds = 0;   ///< Of one kernel, before its first instruction; counts once.
};

struct Bound {
  double seconds = 0;  ///< The largest of the three, after one launch.
  double flops_seconds = 0;
  double hbm_seconds = 0;
  double wire_seconds = 0;
  /// "math", "HBM", "links" or "launch": what limits the bound.
  std::string limited_by;
};

[[nodiscard]] Bound speed_of_light(const Demand& demand, const Peak& peak);

/// 0.5 at the baseline, 1 at the bound, clamped to [0, 1].
[[nodiscard]] double score(double seconds, double baseline_seconds, double bound_seconds);

/// Faster than light: not a success but an error in the program, the clock or the bound.
[[nodiscard]] bool is_too_fast(double seconds, double bound_seconds);

}  // namespace cuco::measure
