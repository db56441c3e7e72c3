// SPDX-License-Identifier: Apache-2.0
#include "measure/samples.h"

#include <algorithm>

namespace cuco::measure {

Quality SampleFilter::look_at(const Sample& sample) {
  samples_.push_back(sample);
  highest_clock_ = std::max(highest_clock_, sample.clock_mhz);
  if (sample.probe_seconds > 0 && (fastest_probe_ == 0 || sample.probe_seconds < fastest_probe_)) {
    fastest_probe_ = sample.probe_seconds;
  }
  const bool slow_clock =
      sample.clock_mhz > 0 && sample.clock_mhz < rules_.clock_share * highest_clock_;
  if (sample.throttled || slow_clock) {
    ++throttled_;
    return Quality::Throttled;
  }
  if (sample.probe_seconds > rules_.probe_excess * fastest_probe_) {
    ++disturbed_;
    return Quality::Disturbed;
  }
  return Quality::Good;
}

double left_running(const std::vector<Sample>& incumbent, const std::vector<Sample>& candidate) {
  // Medians of a few pairs agree to 2 us on an H200, whatever the kernels.
  constexpr double kNoDifference = 6e-6;
  const auto median = [](const std::vector<Sample>& samples) {
    std::vector<double> after;
    for (const Sample& sample : samples)
      after.push_back(sample.after_seconds);
    std::sort(after.begin(), after.end());
    return after.empty() ? 0 : after[after.size() / 2];
  };
  const double difference = median(candidate) - median(incumbent);
  return difference > kNoDifference ? difference : 0;
}

}  // namespace cuco::measure
