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

}  // namespace cuco::measure
