// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a profiled iteration shows: where the slowest rank's time went, and at which lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "candidate/outcome.h"

namespace cuco::judge {

struct Profile {
  std::vector<candidate::PhaseTime> phases;  ///< They add up to the iteration.
  std::vector<candidate::HotSpot> hot_spots;
  double wire_bytes = -1;  ///< Negative: nobody looked.
  // For a timeline only.
  std::string report;
  std::int64_t begin_ps = 0;
};

/// One iteration, seen from the rank that was last.
struct ProfiledSpan {
  int device = 0;
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
};

/// `report`: as in vcluster/run_report.h.
[[nodiscard]] Result<Profile> read_profile(std::string_view report, const ProfiledSpan& span);

}  // namespace cuco::judge
