// SPDX-License-Identifier: Apache-2.0
#include "vcluster/core/timeline.h"

#include <utility>

#include "base/assert.h"

namespace cuco::vcluster {

void Timeline::at(VTime when, Action action) {
  CUCO_ASSERT(when >= 0);  // Clocks end long before they overflow.
  entries_.push({when > now_ ? when : now_, next_order_++, std::move(action)});
}

std::optional<VTime> Timeline::next_time() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.top().when;
}

void Timeline::run_next() {
  CUCO_ASSERT(!entries_.empty());
  const Entry entry = entries_.top();
  entries_.pop();
  advance_to(entry.when);
  entry.action();
}

}  // namespace cuco::vcluster
