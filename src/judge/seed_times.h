// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is known about the seed on the timed shapes, measured once each.
#pragma once

#include <map>
#include <mutex>
#include <optional>
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
/// threads: for each shape one measures, the others wait for it.
class SeedTimes {
 public:
  /// `measure`: () -> Result<SeedTime>. The pointer stays valid.
  template <typename Measure>
  [[nodiscard]] Result<const SeedTime*> find_or(const std::string& shape,
                                                int surprises,
                                                const Measure& measure) {
    Entry& entry = entry_of({shape, surprises});
    const std::lock_guard lock(entry.mutex);
    if (!entry.time) {
      CUCO_TRY_ASSIGN(entry.time, measure());
    }
    return &*entry.time;
  }

 private:
  using Key = std::pair<std::string, int>;
  struct Entry {
    std::mutex mutex;
    std::optional<SeedTime> time;
  };
  Entry& entry_of(const Key& key) {
    const std::lock_guard lock(mutex_);
    return entries_[key];
  }

  std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

}  // namespace cuco::judge
