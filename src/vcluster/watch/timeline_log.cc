// SPDX-License-Identifier: Apache-2.0
#include "vcluster/watch/timeline_log.h"

#include <algorithm>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/gpu/spin.h"
#include "vgpu/gpu/warp.h"
#include "vgpu/lower/code.h"

namespace cuco::vcluster {
namespace {

/// Accesses closer than this are one burst, waits closer than that one wait.
constexpr VTime kBurstGap = vgpu::kMicrosecond;
constexpr VTime kWaitGap = 100 * vgpu::kNanosecond;
constexpr VTime kBucket = VTime{1} << 18U;
/// More is for nobody's eyes, and must not fill the memory.
constexpr std::size_t kMostArrows = 1U << 16U;
constexpr std::size_t kMostWaits = 4096;  ///< Of a line, before they are joined.
constexpr std::size_t kMostWrites = 64;   ///< Of an address, that nobody has seen yet.

void join(std::vector<TimelineLog::Wait>& waits) {
  std::ranges::sort(waits, {}, &TimelineLog::Wait::from);
  std::vector<TimelineLog::Wait> joined;
  for (const TimelineLog::Wait& wait : waits) {
    if (!joined.empty() && wait.from <= joined.back().to + kWaitGap) {
      joined.back().to = std::max(joined.back().to, wait.to);
      joined.back().times += wait.times;
    } else {
      joined.push_back(wait);
    }
  }
  waits = std::move(joined);
}

}  // namespace

TimelineLog::PlaceId TimelineLog::place_of(const vgpu::Warp& warp, const vgpu::Op& op) {
  const unsigned device = warp.grid->device;
  const auto [known, is_new] = known_.try_emplace({warp.kernel, op.source, device}, 0);
  if (!is_new) return known->second;
  Place place(device, warp.kernel->info.name, vgpu::line_of(*warp.kernel, op));
  const auto [id, is_first] = place_ids_.try_emplace(place, static_cast<PlaceId>(places_.size()));
  if (is_first) places_.push_back(std::move(place));
  return known->second = id->second;
}

void TimelineLog::on_access(const vgpu::Warp& warp,
                            const vgpu::Op& op,
                            const vgpu::AccessEvent& event) {
  if (event.space != ptx::Space::Global) return;
  const bool is_strong = vgpu::is_strong(event.order);
  if (is_strong && event.kind != vgpu::AccessKind::Store) note_flags(warp, op, event);
  if (is_strong && event.kind != vgpu::AccessKind::Load) note_writes(warp, op, event);
  note_traffic(warp, op, event);
}

void TimelineLog::note_traffic(const vgpu::Warp& warp,
                               const vgpu::Op& op,
                               const vgpu::AccessEvent& event) {
  const bool is_load = event.kind == vgpu::AccessKind::Load;
  vgpu::for_active(event.lanes, [&](unsigned lane) {
    const unsigned owner = memory_.granule(event.addresses[lane]).owner;
    if (owner == vgpu::kHostOwner || owner == warp.grid->device) return;
    const auto [found, is_new] =
        traffic_[{place_of(warp, op), static_cast<int>(owner), is_load}].try_emplace(
            warp.clock / kBucket, Burst{warp.clock, warp.clock, 0});
    Burst& burst = found->second;
    burst.first = std::min(burst.first, warp.clock);
    burst.last = std::max(burst.last, warp.clock);
    burst.bytes += event.bytes;
  });
}

void TimelineLog::note_writes(const vgpu::Warp& warp,
                              const vgpu::Op& op,
                              const vgpu::AccessEvent& event) {
  Write write{.place = place_of(warp, op),
              .device = static_cast<int>(warp.grid->device),
              .sent = warp.clock,
              .arrives = warp.clock};
  vgpu::for_active(event.lanes, [&](unsigned lane) {
    auto& writes = writes_[event.addresses[lane]];
    if (writes.size() >= kMostWrites) writes.erase(writes.begin());
    writes.push_back(write);
  });
}

void TimelineLog::note_flags(const vgpu::Warp& warp,
                             const vgpu::Op& op,
                             const vgpu::AccessEvent& event) {
  vgpu::for_active(event.lanes, [&](unsigned lane) {
    const vgpu::Address address = event.addresses[lane];
    const VTime arrives = memory_.arrivals.of(address);
    if (arrives <= warp.clock) return;
    const PlaceId place = place_of(warp, op);
    note_wait(place, warp.clock, arrives);
    note_arrow(place, warp.grid->device, address, arrives);
  });
}

void TimelineLog::on_wait(
    const vgpu::Warp& warp, const vgpu::Op& op, vgpu::WaitKind kind, VTime from, VTime to) {
  if (kind != vgpu::WaitKind::Poll || to <= from) return;
  const auto split = std::ranges::find_if(warp.splits, [&](const vgpu::Split& one) {
    return one.spin != nullptr && one.spin->parked_at == &op && one.since == from;
  });
  if (split == warp.splits.end()) return;
  const PlaceId place = place_of(warp, op);
  bool is_global = false;
  for (const vgpu::SpinLog::Location& location : split->spin->locations) {
    if (location.shared) continue;  // a matter of one block
    is_global = true;
    note_arrow(place, warp.grid->device, location.address, to);
  }
  if (is_global) note_wait(place, from, to);
}

void TimelineLog::note_wait(PlaceId place, VTime from, VTime to) {
  auto& waits = waits_[place];
  waits.push_back({place, from, to});
  if (waits.size() % kMostWaits == 0) join(waits);
}

// To whom it may concern is the last write that can have been seen by then; an earlier one was
// seen before, or nobody waited for it.
void TimelineLog::note_arrow(PlaceId place, unsigned device, vgpu::Address address, VTime seen) {
  take_deliveries();
  const auto found = writes_.find(address);
  if (found == writes_.end()) return;
  auto& writes = found->second;
  Write* last = nullptr;
  for (Write& write : writes) {
    if (write.arrives <= seen && (last == nullptr || write.arrives >= last->arrives)) last = &write;
  }
  if (last == nullptr) return;
  // On its own GPU kernels tell each other things, too: no arrow, but no other's either.
  if (last->delivery < 0 && last->device == static_cast<int>(device)) return;
  const auto [arrow, is_new] = last->arrows.try_emplace(place, arrows_.size());
  if (!is_new) {
    arrows_[arrow->second].seen = std::max(arrows_[arrow->second].seen, seen);
  } else if (arrows_.size() < kMostArrows) {
    arrows_.push_back({last->delivery, last->place, last->sent, place, seen});
  } else {
    last->arrows.erase(arrow);
  }
}

void TimelineLog::take_deliveries() {
  for (; taken_ < deliveries_.size(); ++taken_) {
    const vgpu::Delivery& delivery = deliveries_[taken_];
    writes_[delivery.address].push_back({.delivery = static_cast<std::int64_t>(taken_),
                                         .device = delivery.from,
                                         .sent = delivery.sent,
                                         .arrives = delivery.arrived});
  }
}

std::vector<TimelineLog::Wait> TimelineLog::waits() const {
  std::vector<Wait> all;
  for (auto& [place, waits] : waits_) {
    join(waits);
    all.insert(all.end(), waits.begin(), waits.end());
  }
  return all;
}

std::vector<TimelineLog::Traffic> TimelineLog::traffic() const {
  std::vector<Traffic> all;
  for (const auto& [key, bursts] : traffic_) {
    const auto& [place, peer, is_load] = key;
    const Burst* before = nullptr;
    for (const auto& [bucket, burst] : bursts) {
      if (before == nullptr || burst.first > before->last + kBurstGap)
        all.push_back({place, peer, is_load, burst.first, burst.first, 0});
      all.back().to = burst.last + latency_;
      all.back().bytes += burst.bytes;
      before = &burst;
    }
  }
  return all;
}

void TimelineLog::on_grid_end(const vgpu::Grid& grid) {
  std::erase_if(known_, [&](const auto& entry) { return std::get<0>(entry.first) == grid.kernel; });
}

void TimelineLog::forget() {
  calls.forget();
  waits_.clear();
  traffic_.clear();
  writes_.clear();
  arrows_.clear();
  taken_ = 0;
}

}  // namespace cuco::vcluster
