// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is known about the seed on the timed shapes, measured once each.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"
#include "judge/trial/trial_spec.h"

namespace cuco::judge {

struct SeedTime {
  double seconds = 0;
  TrialOutputs outputs;
};

/// By shape and number of surprises: the seed is timed as candidates are, with as many of them,
/// since what an iteration takes may depend a little on those before it. May be used from several
/// threads: one measures, the others wait for it.
class SeedTimes {
 public:
  /// `measure`: () -> Result<SeedTime>. The pointer stays valid.
  template <typename Measure>
  [[nodiscard]] Result<const SeedTime*> find_or(const std::string& shape,
                                                int surprises,
                                                const Measure& measure) {
    const std::lock_guard lock(mutex_);
    const std::pair key(shape, surprises);
    if (const auto known = times_.find(key); known != times_.end()) return &known->second;
    CUCO_TRY_ASSIGN(SeedTime time, measure());
    return &(times_[key] = std::move(time));
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, int>, SeedTime> times_;
};

}  // namespace cuco::judge
