// SPDX-License-Identifier: Apache-2.0
/// \file
/// A warp's clock, brought up to its current op: inline, for those who do it with every access.
#pragma once

#include <algorithm>

#include "vgpu/gpu/grid.h"

namespace cuco::vgpu {

/// Warp::sync_clock.
[[gnu::always_inline]] inline void advance_clock(Warp& w) {
  if (w.ip <= w.segment) {
    w.segment = w.ip;
    return;
  }
  const Op* const first = w.kernel->ops.data();
  const CostTable::Before* const before = w.grid->costs->before.data();
  const CostTable::Before begin = before[w.segment - first];
  const CostTable::Before end = before[w.ip - first];
  w.segment = w.ip;
  const VTime began = w.clock;
  w.clock = std::max(began + (end.latency - begin.latency),
                     w.sm->issue.reserve(began, end.issue - begin.issue));
  if (w.shared_passes != 0) {
    w.grid->counters.shared_cycles += w.shared_passes;
    w.clock = std::max(w.clock, w.sm->lsu.reserve(began, w.shared_passes * w.sm->timing->cycle));
    w.shared_passes = 0;
  }
}

}  // namespace cuco::vgpu
