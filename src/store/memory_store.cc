// SPDX-License-Identifier: Apache-2.0
#include "store/memory_store.h"

#include <algorithm>

namespace cuco::store {

Result<candidate::Event> MemoryStore::append(candidate::EventBody body) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.wall());
  events_.push_back({static_cast<std::int64_t>(events_.size()) + 1, now.count(), std::move(body)});
  return events_.back();
}

Result<std::vector<candidate::Event>> MemoryStore::events(std::int64_t sequence) const {
  const auto skipped = std::clamp<std::int64_t>(sequence, 0, std::ssize(events_));
  return std::vector(events_.begin() + skipped, events_.end());
}

Result<candidate::RunSummary> MemoryStore::summary() const {
  return candidate::summarise(events_);
}

}  // namespace cuco::store
