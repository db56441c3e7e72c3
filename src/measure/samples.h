// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which timings of a real GPU may be believed.
///
/// A sample is dropped for what the machine did, never for how long it took: to throw away slow
/// samples would favour whoever is noisy, and the paired test would no longer hold its alpha.
#pragma once

#include <cstddef>
#include <vector>

namespace cuco::measure {

/// One timed iteration, and what was seen around it.
struct Sample {
  double seconds = 0;
  double clock_mhz = 0;      ///< The GPU's, right after; 0: not known.
  bool throttled = false;    ///< The driver named a reason (heat, power).
  double probe_seconds = 0;  ///< A trusted kernel of fixed work, run before; 0: none was.
  double after_seconds = 0;  ///< From the program's "done" until another process had the GPU.
};

enum class Quality {
  Good,
  Throttled,  ///< By the driver's word, or a clock far below the highest one seen.
  Disturbed,  ///< The trusted kernel took too long: another process uses the GPU.
};

/// Looks at samples in the order in which they come.
class SampleFilter {
 public:
  struct Rules {
    double clock_share = 0.9;   ///< Of the highest clock seen.
    double probe_excess = 1.1;  ///< Of the fastest probe seen.
  };
  SampleFilter() = default;
  explicit SampleFilter(const Rules& rules) : rules_(rules) {}

  Quality look_at(const Sample& sample);
  [[nodiscard]] std::size_t throttled() const { return throttled_; }
  [[nodiscard]] std::size_t disturbed() const { return disturbed_; }
  /// All of them, dropped ones too.
  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }

 private:
  Rules rules_;
  double highest_clock_ = 0;
  double fastest_probe_ = 0;
  std::size_t throttled_ = 0;
  std::size_t disturbed_ = 0;
  std::vector<Sample> samples_;
};

/// Seconds for which the GPU was busy longer after the candidate's "done" than after the
/// incumbent's: work that it had left running. 0 while the difference is within the noise.
[[nodiscard]] double left_running(const std::vector<Sample>& incumbent,
                                  const std::vector<Sample>& candidate);

}  // namespace cuco::measure
