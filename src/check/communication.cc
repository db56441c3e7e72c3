// SPDX-License-Identifier: Apache-2.0
#include "check/communication.h"

#include <algorithm>

#include <fmt/format.h>

namespace cuco::check {

void Communication::add_region(Region region, Address owner) {
  owned_.emplace(owner, region.base);
  regions_[region.base] = std::move(region);
}

void Communication::remove_regions_of(Address owner) {
  const auto [first, last] = owned_.equal_range(owner);
  for (auto it = first; it != last; ++it)
    regions_.erase(it->second);
  owned_.erase(first, last);
}

const Region* Communication::find(Address address) const {
  auto after = regions_.upper_bound(address);
  if (after == regions_.begin()) return nullptr;
  --after;
  return address - after->second.base < after->second.bytes ? &after->second : nullptr;
}

std::string Communication::describe(Address address) const {
  const Region* region = find(address);
  if (region == nullptr) return {};
  const std::uint64_t index = (address - region->base) / 8;
  switch (region->kind) {
    case Region::Kind::Signals:
      return fmt::format("signal {} of rank {}", index, region->rank);
    case Region::Kind::Counters:
      return fmt::format("counter {} of rank {}", index, region->rank);
    case Region::Kind::Shadows:
      return fmt::format("the shadow of signal {} of rank {}", index, region->rank);
    case Region::Kind::Barriers:
      return fmt::format("barrier memory of rank {}", region->rank);
    case Region::Kind::Guard:
      return fmt::format("memory behind the barriers of rank {}", region->rank);
    case Region::Kind::Queue:
      return fmt::format("NCCL's own memory of rank {}", region->rank);
    case Region::Kind::Window:
      return fmt::format("{} of rank {}, offset {}", region->name, region->rank,
                         address - region->base);
  }
  return {};
}

PutRecord* Communication::find_put(ActorId actor) {
  const auto found = puts_.find(actor);
  return found == puts_.end() ? nullptr : &found->second;
}

void Communication::for_puts(const std::function<void(ActorId, const PutRecord&)>& use) const {
  for (const auto& [actor, put] : puts_)
    use(actor, put);
}

void Communication::raise(Address signal, std::uint64_t value, ActorId by) {
  auto& list = raises_[signal];
  list.push_back({value, by});
  if (PutRecord* put = find_put(by)) put->raised = list.size();
}

void Communication::see(Address signal, std::uint32_t block, SignalSeen seen) {
  constexpr std::size_t kRemembered = 256;  // more blocks than wait for one signal
  const auto& list = raises(signal);
  auto& looks = looks_[signal];
  if (looks.empty() || looks.back().block != block) {
    std::erase_if(looks, [&](const Look& look) { return look.block == block; });
    if (looks.size() == kRemembered) looks.erase(looks.begin());
    looks.push_back({block, {}});
  }
  seen.value = seen.raises == 0 ? 0 : list[seen.raises - 1].value;
  looks.back().seen = seen;
}

const std::vector<Communication::Raise>& Communication::raises(Address signal) const {
  static const std::vector<Raise> kNone;
  const auto found = raises_.find(signal);
  return found == raises_.end() ? kNone : found->second;
}

std::optional<SignalSeen> Communication::last_seen(
    Address signal, const std::function<bool(std::uint32_t block)>& wanted) const {
  const auto found = looks_.find(signal);
  if (found == looks_.end()) return std::nullopt;
  const auto look = std::find_if(found->second.rbegin(), found->second.rend(),
                                 [&](const Look& one) { return wanted(one.block); });
  if (look == found->second.rend()) return std::nullopt;
  return look->seen;
}

}  // namespace cuco::check
