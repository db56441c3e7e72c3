// SPDX-License-Identifier: Apache-2.0
#include "check/race/happens_before.h"

#include <algorithm>

namespace cuco::check {
namespace {

template <typename Id, typename Value>
Value find(const std::vector<std::pair<Id, Value>>& list, Id id) {
  const auto at = std::lower_bound(list.begin(), list.end(), id, [](const auto& entry, Id wanted) {
    return entry.first < wanted;
  });
  return at != list.end() && at->first == id ? at->second : Value{0};
}

}  // namespace

ClockPtr Clock::zero() {
  return std::make_shared<const Clock>();
}

std::uint32_t Clock::epoch_of(ActorId actor) const {
  return find(actors_, actor);
}

std::uint64_t Clock::operation_of(ChainId chain) const {
  return find(chains_, chain);
}

ClockPtr Clock::join(const ClockPtr& a, const ClockPtr& b) {
  if (a == b || !b) return a;
  if (!a) return b;
  const auto unknown = [](auto) { return false; };
  const auto has = [&](const Clock& all, const Clock& part) {
    return holds(all.actors_, part.actors_, unknown) && holds(all.chains_, part.chains_, unknown);
  };
  if (has(*a, *b)) return a;
  if (has(*b, *a)) return b;
  const auto all = [](auto) { return true; };
  auto both = std::make_shared<Clock>();
  both->actors_ = merge(a->actors_, b->actors_, all);
  both->chains_ = merge(a->chains_, b->chains_, all);
  return both;
}

ClockPtr Clock::with_actor(const ClockPtr& clock, ActorId actor, std::uint32_t epoch) {
  if (clock && clock->epoch_of(actor) >= epoch) return clock;
  auto fresh = clock ? std::make_shared<Clock>(*clock) : std::make_shared<Clock>();
  raise(fresh->actors_, actor, epoch);
  return fresh;
}

ClockPtr Clock::with_actors(const ClockPtr& clock,
                            ActorId first,
                            std::span<const std::uint32_t> epochs) {
  auto added = std::make_shared<Clock>();
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    if (epochs[i] != 0) added->actors_.emplace_back(first + static_cast<ActorId>(i), epochs[i]);
  }
  if (added->actors_.empty() && clock) return clock;
  return join(clock, added);
}

ClockPtr Clock::with_chain(const ClockPtr& clock, ChainId chain, std::uint64_t operation) {
  if (clock && clock->operation_of(chain) >= operation) return clock;
  auto fresh = clock ? std::make_shared<Clock>(*clock) : std::make_shared<Clock>();
  raise(fresh->chains_, chain, operation);
  return fresh;
}

}  // namespace cuco::check
