// SPDX-License-Identifier: Apache-2.0
// What orders accesses: flags, fences, meetings of lanes. The rules are those of the PTX memory
// model, as far as they matter for synchronisation:
//
//   release pattern   st.release X            or  fence; st.relaxed X     publishes to X
//   acquire pattern   ld.acquire X            or  ld.relaxed X; fence     learns what X published
//   a read-modify-write continues what was published to X (release sequence); a plain store ends it
//
// What a reader learns of X is what its wait demands, not what it happened to find: see
// SyncHistory.
//
// An edge exists only if both sides' scopes include the other actor. A fence's scope limits it too.
// Two things are taken for ordered that the model leaves open, as programs rely on them everywhere:
// fences of all threads before a barrier count for the flag that one thread sets behind it (and the
// other way round for the reader); what came before a kernel needs no release in a barrier of
// NCCL's that it begins with, and what such a barrier saw needs no acquire at the kernel's end. A
// flag of the program's own needs both.
#include <algorithm>
#include <utility>

#include "check/race/lane_code.h"
#include "check/race/race_actor.h"

namespace cuco::check {
namespace {

bool acquires(Order order) {
  return order == Order::Acquire || order == Order::AcqRel || order == Order::Sc;
}

/// Block, device, system: clusters are taken for devices.
std::size_t level(Scope scope) {
  return scope == Scope::Cta ? 0 : scope == Scope::Sys ? 2 : 1;
}

Scope scope_of(std::size_t level) {
  return level == 0 ? Scope::Cta : level == 1 ? Scope::Gpu : Scope::Sys;
}

}  // namespace

void RaceDetector::open_releases(Me& me, std::uint32_t lanes) {
  for (const UnmetLanes::Open& open : me.live.lanes.open) {
    if ((open.openers & lanes) != 0)
      lane_releases_.allow(me.actor, open.epoch, open.given != 0 ? open.given : lanes);
  }
}

void RaceDetector::meet_on(ActorId actor, Access access) {
  Me me = me_of(actor);
  if (me.group.order != nullptr) me.lanes = lanes_of(access);
  const auto found = flags_.find(access.address & ~Address{3});
  if (found != flags_.end() && access.before) {
    const auto& last = found->second.last();
    if (last.value && *last.value != *access.before) found->second.start_over(*access.before);
  }
  synchronise(me, access);
  if (access.kind != AccessKind::Load && releases(access.order)) publish(actor);
}

void RaceDetector::synchronise(Me& me, const Access& access) {
  const Address at = access.address & ~Address{3};
  auto found = flags_.find(at);
  // An addition from outside of a kernel (NIC) gives nothing back.
  const bool loads = access.kind != AccessKind::Store && !access.after;
  bool polls = false;
  if (found != flags_.end()) {
    catch_up(found->second, access);
    if (loads) polls = read_flag(me, found->second, access);
  }
  if (loads && acquires(access.order)) take(me.actor, me.live.fences.library, access.scope);
  // A compare-and-swap that is tried again has written nothing.
  if (access.kind == AccessKind::Load || polls) return;
  if (!me.live.lanes.open.empty()) open_releases(me, me.lanes);
  SyncHistory::Write write;
  const std::size_t reach = level(access.scope);
  for (std::size_t i = 0; i < write.clocks.size(); ++i) {
    const std::size_t to = std::min(i, reach);
    write.clocks[to] = Clock::join(write.clocks[to], me.live.fences.fenced[i]);
  }
  if (access.of_library) write.clocks[2] = Clock::join(write.clocks[2], me.group.start);
  if (releases(access.order)) {
    write.clocks[reach] = Clock::with_actor(knowledge(me.actor), me.actor, me.epoch());
  }
  if (access.of_library) write.start = me.group.start;
  if (found == flags_.end()) {
    if (!write.clocks[0] && !write.clocks[1] && !write.clocks[2]) return;
    found = flags_.try_emplace(at, access.before, static_cast<std::uint32_t>(access.bytes)).first;
  }
  write_flag(me, found->second, access, std::move(write));
}

void RaceDetector::catch_up(SyncHistory& history, const Access& access) {
  const Stamp stamp = last_write(access.address);
  const SyncHistory::Write& last = history.last();
  SyncHistory::Write other;
  other.actor = stamp.actor;
  other.epoch = stamp.epoch;
  const bool out_of_sight = access.before && stamp.actor != kNoActor &&
                            (stamp.actor != last.actor || stamp.epoch != last.epoch) &&
                            last.actor != kNoActor;
  history.found(access.before, static_cast<std::uint32_t>(access.bytes),
                out_of_sight ? &other : nullptr);
}

SyncHistory::Set RaceDetector::known_writes(const SyncHistory& history, Me& me) const {
  SyncHistory::Set known = 0;
  Stamp stamp;
  const auto& writes = history.writes();
  for (std::size_t i = 0; i < writes.size(); ++i) {
    stamp.actor = writes[i].actor;
    stamp.epoch = writes[i].epoch;
    if (stamp.actor == kNoActor || happened_before(stamp, me)) known |= SyncHistory::Set{1} << i;
  }
  // What somebody had seen there who came before.
  for (const SyncHistory::Look& look : history.looks()) {
    stamp.actor = look.actor;
    stamp.epoch = look.epoch;
    if ((look.proven & ~known) != 0 && happened_before(stamp, me)) known |= look.proven;
  }
  return history.closure(known);
}

std::size_t RaceDetector::needed_level(const ActorInfo& a, const ActorInfo& b) {
  return a.block == b.block ? 0 : a.device == b.device ? 1 : 2;
}

bool RaceDetector::read_flag(Me& me, SyncHistory& history, const Access& access) {
  const SyncHistory::Set known = known_writes(history, me);
  const SyncHistory::Reading reading = history.read(known, access.before, access.ask);
  if (reading.is_poll) return true;
  // What was published with the writes that must have come, by the scope that an acquire needs.
  std::array<ClockPtr, 3> seen;
  ClockPtr start;
  bool is_first = true;
  for (const SyncHistory::Set way : reading.ways) {
    std::array<ClockPtr, 3> here;
    ClockPtr began;
    for (std::size_t w = 0; w < history.writes().size(); ++w) {
      if ((way >> w & 1U) == 0) continue;
      const SyncHistory::Write& write = history.writes()[w];
      const ActorInfo& writer = info(write.actor);
      if (access.of_library) began = Clock::join(began, write.start);
      if (!scope_includes(access.scope, me.group.info, writer)) continue;
      ClockPtr& to = here[needed_level(writer, me.group.info)];
      for (std::size_t i = 0; i < write.clocks.size(); ++i) {
        if (!write.clocks[i] || !scope_includes(scope_of(i), writer, me.group.info)) continue;
        to = Clock::join(to, write.clocks[i]);
      }
    }
    if (is_first) {
      seen = here;
      start = began;
    } else {
      // In another way less is known: what both know, by the wider scope.
      const auto whole = [](const std::array<ClockPtr, 3>& clocks) {
        return Clock::join(Clock::join(clocks[0], clocks[1]), clocks[2]);
      };
      const bool wide = seen[2] || here[2];
      const bool middle = seen[1] || here[1];
      const ClockPtr both = meet(whole(seen), whole(here));
      seen = {};
      seen[wide ? 2 : middle ? 1 : 0] = both;
      start = meet(start, began);
    }
    is_first = false;
  }
  // Who reads again what it knows learns nothing, and keeps what it counted on.
  if (reading.least || (reading.proven & ~known) != 0) {
    history.remember({.actor = me.actor,
                      .epoch = me.epoch(),
                      .proven = reading.proven,
                      .counted = reading.proven & ~known,
                      .count = history.writes().size(),
                      .least = reading.least});
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) continue;
    if (acquires(access.order)) {
      if (me.lanes != 0) me.live.lanes.note_learners(me.lanes, me.live.clock);
      learn(me.actor, seen[i]);
    } else {
      ClockPtr& to = access.of_library ? me.live.fences.library[i] : me.live.fences.pending[i];
      to = Clock::join(to, seen[i]);
    }
  }
  if (access.of_library) learn(me.actor, start);
  return false;
}

void RaceDetector::write_flag(Me& me,
                              SyncHistory& history,
                              const Access& access,
                              SyncHistory::Write write) {
  write.kind = access.kind == AccessKind::Store ? SyncHistory::Kind::Store
               : access.is_addition             ? SyncHistory::Kind::Add
                                                : SyncHistory::Kind::Other;
  write.actor = me.actor;
  write.epoch = me.epoch();
  const bool counts = write.kind == SyncHistory::Kind::Add;
  history.add(std::move(write), counts ? known_writes(history, me) : SyncHistory::Set{0});
  if (!access.after) return;
  history.set_value(*access.after);
  if (!stand_in_ || !counts) return;
  const std::vector<SyncHistory::Write>& writes = history.writes();
  for (const SyncHistory::Look& look : history.looks()) {
    Stamp wait;
    wait.actor = look.actor;
    wait.epoch = look.epoch;
    if (happened_before(wait, me)) continue;
    const SyncHistory::Set replaced = history.replaced_by_last(look);
    for (std::size_t w = 0; w < writes.size(); ++w) {
      if ((replaced >> w & 1U) == 0) continue;
      Stamp awaited;
      awaited.actor = writes[w].actor;
      awaited.epoch = writes[w].epoch;
      Stamp other;
      other.actor = me.actor;
      other.epoch = me.epoch();
      stand_in_({access.address, awaited, other, wait});
    }
  }
}

std::optional<std::uint64_t> RaceDetector::demanded(ActorId actor, Address address) const {
  const auto found = flags_.find(address & ~Address{3});
  if (found == flags_.end()) return std::nullopt;
  const auto& looks = found->second.looks();
  const auto look = std::ranges::find(looks, actor, &SyncHistory::Look::actor);
  return look == looks.end() ? std::nullopt : look->least;
}

ClockPtr RaceDetector::meet(const ClockPtr& a, const ClockPtr& b) const {
  return Clock::meet(
      a, b,
      [&](const Clock& clock, ActorId actor) {
        const ActorInfo& who = info(actor);
        return who.operation != 0 && clock.operation_of(who.chain) >= who.operation;
      },
      [&](const Clock& clock, ChainId chain) {
        const auto cover = covers_.find(chain);
        return cover != covers_.end() &&
               clock.operation_of(cover->second.by) >= cover->second.operation;
      });
}

void RaceDetector::take(ActorId actor, std::array<ClockPtr, 3>& from, Scope scope) {
  for (std::size_t i = 0; i <= level(scope); ++i) {
    if (from[i]) learn(actor, std::exchange(from[i], nullptr));
  }
}

void RaceDetector::fence(ActorId actor, Order order, Scope scope, std::uint32_t lanes) {
  Me me = me_of(actor);
  const bool has_lanes = me.group.order != nullptr;
  UnmetLanes& unmet = me.live.lanes;
  if (acquires(order)) {
    const bool learns = std::ranges::any_of(me.live.fences.pending,
                                            [](const ClockPtr& one) { return one != nullptr; });
    if (has_lanes && learns) unmet.note_learners(lanes, me.live.clock);
    take(actor, me.live.fences.pending, scope);
    take(actor, me.live.fences.library, scope);
  }
  if (!releases(order)) return;
  if (has_lanes && !unmet.are_spoken_for_by(lanes)) {
    lane_releases_.add(actor, me.epoch(), 0);
    unmet.add({.epoch = me.epoch(), .openers = lanes});
  }
  me.live.fences.fenced[level(scope)] = publish(actor);
}

void RaceDetector::end_kernel(ActorId actor) {
  take(actor, me_of(actor).live.fences.library, Scope::Sys);
}

void RaceDetector::gather_fences(ActorId actor, Fences& to) {
  const Fences& from = me_of(actor).live.fences;
  for (std::size_t i = 0; i < to.fenced.size(); ++i) {
    to.fenced[i] = Clock::join(to.fenced[i], from.fenced[i]);
    to.pending[i] = Clock::join(to.pending[i], from.pending[i]);
    to.library[i] = Clock::join(to.library[i], from.library[i]);
  }
}

void RaceDetector::take_fences(ActorId actor, const Fences& from) {
  // Everybody's own are among them.
  me_of(actor).live.fences = from;
}

void RaceDetector::sync_lanes(ActorId actor) {
  Me me = me_of(actor);
  if (me.group.order == nullptr) return;
  if (std::exchange(me.live.has_written, false)) me.group.order->end_epoch(me.warp);
  // Fences of all lanes before they meet count for the flag that one of them raises behind it.
  for (const UnmetLanes::Open& open : me.live.lanes.open)
    lane_releases_.allow(actor, open.epoch, open.openers);
  me.live.lanes = {};
}

void RaceDetector::sync_lanes(ActorId actor, std::uint32_t lanes) {
  Me me = me_of(actor);
  if (me.group.order == nullptr) return;
  UnmetLanes& unmet = me.live.lanes;
  if ((unmet.learners & lanes) != 0) unmet.learners |= lanes;
  for (UnmetLanes::Open& open : unmet.open) {
    if ((open.openers & lanes) == 0) continue;
    if (open.given == 0) {
      lane_releases_.allow(actor, open.epoch, open.openers & lanes);
    } else {
      open.openers |= lanes;
    }
  }
  if ((unmet.writers & lanes) != 0) {
    lane_releases_.add(actor, me.epoch(), 0);
    unmet.add({.epoch = me.epoch(), .openers = lanes, .given = lanes});
  }
  if (std::exchange(me.live.has_written, false) || !unmet.open.empty())
    me.group.order->end_epoch(me.warp);
}

}  // namespace cuco::check
