// SPDX-License-Identifier: Apache-2.0
/// \file
/// Things that happen at a known virtual time: ends of copies, arrivals, time-outs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "vgpu/timing/time.h"

namespace cuco::vcluster {

using vgpu::VTime;

class Timeline {
 public:
  using Action = std::function<void()>;

  /// Runs `action` at `when`. GPUs run ahead by a microsecond, so that it may be past: then it runs
  /// now. Equal times run in the order asked for.
  void at(VTime when, Action action);

  [[nodiscard]] std::optional<VTime> next_time() const;
  /// Runs the earliest action; there must be one.
  void run_next();

  /// The simulation's time: that of the latest thing that was allowed to happen.
  [[nodiscard]] VTime now() const { return now_; }
  void advance_to(VTime time) { now_ = time > now_ ? time : now_; }

 private:
  struct Entry {
    VTime when = 0;
    std::uint64_t order = 0;
    Action action;
    bool operator<(const Entry& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  std::priority_queue<Entry> entries_;
  std::uint64_t next_order_ = 0;
  VTime now_ = 0;
};

}  // namespace cuco::vcluster
