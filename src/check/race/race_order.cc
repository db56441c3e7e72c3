// SPDX-License-Identifier: Apache-2.0
// What orders accesses: flags, fences, meetings of lanes. The rules are those of the PTX memory
// model, as far as they matter for synchronisation:
//
//   release pattern   st.release X            or  fence; st.relaxed X     publishes to X
//   acquire pattern   ld.acquire X            or  ld.relaxed X; fence     learns what X published
//   a read-modify-write continues what was published to X (release sequence); a plain store ends it
//   fence.sc of anybody before X, fence.sc of anybody after X was seen: in that order
//
// Fence and flag of a pattern are one thread's: a barrier between a fence and another thread's flag
// makes no release of them. The last rule does, for there is one order of all fence.sc: had the
// reader's come first, the flag could not have been seen. (membar, which __threadfence() is, is a
// fence.sc.)
//
// What a reader learns of X is what its wait demands, not what it happened to find: see
// SyncHistory.
//
// An edge exists only if both sides' scopes include the other actor. A fence's scope limits it too.
// One thing is taken for ordered that the model leaves open, as programs rely on it everywhere:
// what came before a kernel needs no release in a barrier of NCCL's that it begins with, and what
// such a barrier saw needs no acquire at the kernel's end. A flag of the program's own needs both.
#include <algorithm>
#include <utility>

#include "check/race/lane_code.h"
#include "check/race/race_actor.h"

namespace cuco::check {
namespace {

/// Block, device, system; a cluster is a block.
std::size_t level(Scope scope) {
  return scope == Scope::Sys ? 2 : scope == Scope::Gpu ? 1 : 0;
}

Scope scope_of(std::size_t level) {
  return level == 0 ? Scope::Cta : level == 1 ? Scope::Gpu : Scope::Sys;
}

bool is_empty(const ByScope& clocks) {
  return !clocks[0] && !clocks[1] && !clocks[2];
}

ClockPtr whole(const ByScope& clocks) {
  return Clock::join(Clock::join(clocks[0], clocks[1]), clocks[2]);
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
  SyncHistory* const found = flags_.find(access.address, access.bytes);
  if (found != nullptr && access.before) {
    const auto& last = found->last();
    if (last.value && *last.value != *access.before) found->start_over(*access.before);
  }
  synchronise(me, access);
  if (access.kind != AccessKind::Load && releases(access.order)) end_epoch(me);
}

void RaceDetector::synchronise(Me& me, const Access& access) {
  SyncHistory* history = flags_.find(access.address, access.bytes);
  // An addition from outside of a kernel (NIC) gives nothing back.
  const bool loads = access.kind != AccessKind::Store && !access.after && !access.is_blind;
  bool polls = false;
  if (history != nullptr) {
    catch_up(*history, access);
    // Parts of a word meet on it, but only some of them are the same to each other.
    const Stamp last = last_write(access.address);
    const Strength mine(access.scope, access.kind, access.bytes);
    const bool is_other = last.strong && !last.strong.same_size(mine);
    if (loads && !is_other) polls = read_flag(me, *history, access);
  }
  if (loads && acquires(access.order)) take(me.actor, me.live.fences.library, access.scope);
  // A compare-and-swap that is tried again has written nothing.
  if (access.kind == AccessKind::Load || polls) return;
  if (!me.live.lanes.open.empty()) open_releases(me, me.lanes);
  SyncHistory::Write write;
  SyncHistory::Word word;
  const std::size_t reach = level(access.scope);
  for (std::size_t i = 0; i < word.clocks.size(); ++i) {
    const std::size_t to = std::min(i, reach);
    word.clocks[to] = Clock::join(word.clocks[to], me.live.fences.fenced[i].of(me.acting_lanes()));
    word.sequential[to] = Clock::join(word.sequential[to], me.live.fences.sequential[i]);
  }
  if (access.of_library) word.clocks[2] = Clock::join(word.clocks[2], me.group.start);
  if (releases(access.order)) {
    // The elements of a vector are in an epoch of their own.
    write.own = me.epoch() - (access.is_element ? 1 : 0);
    write.reach = static_cast<std::uint8_t>(reach);
    word.clocks[reach] = knowledge(me.actor);
  }
  if (access.of_library) word.start = me.group.start;
  if (history == nullptr) {
    if (write.own == 0 && is_empty(word.clocks) && is_empty(word.sequential))
      return flags_.forget(access.address, access.bytes);
    history = &flags_.add(access.address, access.bytes, access.before);
  }
  if (word != SyncHistory::Word()) {
    std::shared_ptr<const SyncHistory::Word>& told = me.live.told;
    if (!told || *told != word) told = std::make_shared<const SyncHistory::Word>(std::move(word));
    write.word = told;
  }
  write_flag(me, *history, access, std::move(write));
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

SyncHistory::Set RaceDetector::known_writes(const SyncHistory& history,
                                            Me& me,
                                            bool of_library) const {
  const Clock* const arrivals = of_library ? me.live.fences.arrivals.get() : nullptr;
  SyncHistory::Set known = 0;
  Stamp stamp;
  const auto& writes = history.writes();
  for (std::size_t i = 0; i < writes.size(); ++i) {
    stamp.actor = writes[i].actor;
    stamp.epoch = writes[i].epoch;
    const bool has_arrived = arrivals != nullptr && arrivals->epoch_of(stamp.actor) >= stamp.epoch;
    if (stamp.actor == kNoActor || has_arrived || happened_before(stamp, me))
      known |= SyncHistory::Set{1} << i;
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

// Who comes after a write knows what was told with it; another lane may have learnt it alone. But a
// put's signal tells of all that the NIC has delivered before, and the first write stands for many.
SyncHistory::Set RaceDetector::untold_writes(const SyncHistory& history, Me& me) const {
  SyncHistory::Set untold = history.all();
  if (me.live.lanes.learners != 0) return untold;
  Stamp stamp;
  for (std::size_t w = 1; w < history.writes().size(); ++w) {
    const SyncHistory::Write& write = history.writes()[w];
    stamp.actor = write.actor;
    stamp.epoch = write.epoch;
    if (!write.is_delivery && happened_before(stamp, me)) untold &= ~(SyncHistory::Set{1} << w);
  }
  return untold;
}

bool RaceDetector::read_flag(Me& me, SyncHistory& history, const Access& access) {
  const SyncHistory::Set known = known_writes(history, me, access.of_library);
  const SyncHistory::Reading reading = history.read(known, access.before, access.ask);
  if (reading.is_poll) return true;
  const SyncHistory::Set untold = untold_writes(history, me);
  // What was published with the writes that must have come, by the scope that an acquire needs.
  SyncHistory::Word seen;
  bool is_first = true;
  for (const SyncHistory::Set way : reading.ways) {
    const SyncHistory::Word here = told_by(history, way & untold, me.group.info, access);
    if (std::exchange(is_first, false)) {
      seen = here;
      continue;
    }
    seen.clocks = meet(seen.clocks, here.clocks);
    seen.sequential = meet(seen.sequential, here.sequential);
    seen.start = meet(seen.start, here.start);
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
  Fences& fences = me.live.fences;
  join(fences.pending_sequential, seen.sequential);
  if (acquires(access.order)) {
    if (!is_empty(seen.clocks)) {
      if (me.lanes != 0) me.live.lanes.note_learners(me.lanes, me.live.clock);
      learn(me.actor, whole(seen.clocks));
    }
  } else if (access.of_library) {
    join(fences.library, seen.clocks);
  } else {
    for (std::size_t i = 0; i < seen.clocks.size(); ++i)
      fences.pending[i].add(me.acting_lanes(), seen.clocks[i]);
  }
  if (access.of_library) {
    learn(me.actor, seen.start);
    for (std::size_t w = 0; w < history.writes().size(); ++w) {
      const SyncHistory::Write& write = history.writes()[w];
      if ((reading.proven >> w & 1U) != 0 && write.actor != kNoActor)
        fences.arrivals = Clock::with_actor(fences.arrivals, write.actor, write.epoch);
    }
  }
  return false;
}

SyncHistory::Word RaceDetector::told_by(const SyncHistory& history,
                                        SyncHistory::Set writes,
                                        const ActorInfo& reader,
                                        const Access& access) const {
  SyncHistory::Word told;
  // The latest first: mostly its writer knew the others, and with it all that they tell.
  for (std::size_t w = history.writes().size(); w-- > 0;) {
    if ((writes >> w & 1U) == 0) continue;
    const SyncHistory::Write& write = history.writes()[w];
    const ActorInfo& writer = info(write.actor);
    static const SyncHistory::Word kNothing;
    const SyncHistory::Word& word = write.word ? *write.word : kNothing;
    if (access.of_library) told.start = join(told.start, word.start);
    if (!scope_includes(access.scope, reader, writer)) continue;
    const auto has_all = [&](const ClockPtr& clock) {
      return w != 0 && !write.is_delivery && clock != nullptr &&
             (clock->epoch_of(write.actor) >= write.epoch || speaks_for(*clock, write.actor));
    };
    const std::size_t needed = needed_level(writer, reader);
    ClockPtr& clocks = told.clocks[needed];
    ClockPtr& sequential = told.sequential[needed];
    const bool has_clocks = has_all(clocks);
    const bool has_sequential = has_all(sequential);
    for (std::size_t i = 0; i < word.clocks.size(); ++i) {
      if (!scope_includes(scope_of(i), writer, reader)) continue;
      if (!has_clocks) clocks = join(clocks, word.clocks[i]);
      if (!has_sequential) sequential = join(sequential, word.sequential[i]);
    }
    const bool tells_own = write.own != 0 && !has_clocks &&
                           scope_includes(scope_of(write.reach), writer, reader) &&
                           (!clocks || !speaks_for(*clocks, write.actor));
    if (tells_own) clocks = Clock::with_actor(clocks, write.actor, write.own);
  }
  return told;
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
  write.is_delivery = access.is_delivery;
  const bool counts = write.kind == SyncHistory::Kind::Add;
  history.add(std::move(write),
              counts ? known_writes(history, me, access.of_library) : SyncHistory::Set{0});
  history.prune([&](const ClockPtr& clock) { return prune(clock); });
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
  const SyncHistory* found = flags_.at(address);
  if (found == nullptr) return std::nullopt;
  const auto& looks = found->looks();
  const auto look = std::ranges::find(looks, actor, &SyncHistory::Look::actor);
  return look == looks.end() ? std::nullopt : look->least;
}

ClockPtr RaceDetector::join(const ClockPtr& a, const ClockPtr& b) const {
  return Clock::join(a, b, SpeaksFor(*this), IsCovered(*this));
}

void RaceDetector::join(ByScope& to, const ByScope& from) const {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = join(to[i], from[i]);
}

ClockPtr RaceDetector::meet(const ClockPtr& a, const ClockPtr& b) const {
  return Clock::meet(a, b, SpeaksFor(*this), IsCovered(*this));
}

ByScope RaceDetector::meet(const ByScope& a, const ByScope& b) const {
  const std::size_t widest = a[2] || b[2] ? 2 : a[1] || b[1] ? 1 : 0;
  ByScope both;
  both[widest] = meet(whole(a), whole(b));
  return both;
}

// As of a flag that the thread raises with relaxed order, for a reader whose acquire is a fence.sc.
ClockPtr RaceDetector::released_with(Address address) {
  const Stamp stamp = last_write(address);
  if (stamp.actor == kNoActor) return nullptr;
  const Group& group = groups_[group_of_[stamp.actor]];
  if (group.order == nullptr) return clock_of(stamp);  // Not by a kernel, or by one that is over.
  Me me = me_of(stamp.actor);
  const std::uint32_t lanes = stamp.lane < kLanes ? 1U << stamp.lane : kAllLanes;
  open_releases(me, lanes);
  constexpr std::size_t kSystem = 2;
  const Fences& fences = me.live.fences;
  const ClockPtr fenced = Clock::join(fences.fenced[kSystem].of(lanes), fences.sequential[kSystem]);
  return Clock::join(group.start, fenced);
}

void RaceDetector::take(ActorId actor, ByScope& from, Scope scope) {
  for (std::size_t i = 0; i <= level(scope); ++i) {
    if (from[i]) learn(actor, std::exchange(from[i], nullptr));
  }
}

void RaceDetector::fence(ActorId actor, Order order, Scope scope, std::uint32_t lanes) {
  Me me = me_of(actor);
  const bool has_lanes = me.group.order != nullptr;
  const bool is_sequential = order == Order::Sc;
  UnmetLanes& unmet = me.live.lanes;
  Fences& fences = me.live.fences;
  if (acquires(order)) {
    ByScope seen;
    for (std::size_t i = 0; i <= level(scope); ++i) {
      if (!fences.pending[i].empty()) seen[i] = fences.pending[i].take(has_lanes ? lanes : ~0U);
    }
    if (is_sequential) {
      for (std::size_t i = 0; i <= level(scope); ++i)
        seen[i] = Clock::join(seen[i], std::exchange(fences.pending_sequential[i], nullptr));
    }
    if (!is_empty(seen)) {
      if (has_lanes) unmet.note_learners(lanes, me.live.clock);
      learn(actor, whole(seen));
    }
    take(actor, fences.library, scope);
  }
  if (!releases(order)) return;
  if (has_lanes && !unmet.are_spoken_for_by(lanes)) {
    lane_releases_.add(actor, me.epoch(), 0);
    unmet.add({.epoch = me.epoch(), .openers = lanes, .given = 0, .is_sequential = is_sequential});
  }
  const ClockPtr known = publish(actor);
  fences.fenced[level(scope)].set(has_lanes ? lanes : ~0U, known);
  if (is_sequential) fences.sequential[level(scope)] = known;
}

void RaceDetector::end_kernel(ActorId actor) {
  take(actor, me_of(actor).live.fences.library, Scope::Sys);
}

void RaceDetector::gather_fences(ActorId actor, Fences& to) {
  const Fences& from = me_of(actor).live.fences;
  join(to.sequential, from.sequential);
  join(to.pending_sequential, from.pending_sequential);
  join(to.library, from.library);
  to.arrivals = Clock::join(to.arrivals, from.arrivals);
}

void RaceDetector::take_fences(ActorId actor, const Fences& from) {
  // Everybody's own are among them.
  Fences& to = me_of(actor).live.fences;
  to.sequential = from.sequential;
  to.pending_sequential = from.pending_sequential;
  to.library = from.library;
  to.arrivals = from.arrivals;
}

void RaceDetector::sync_lanes(ActorId actor) {
  Me me = me_of(actor);
  if (me.group.order == nullptr) return;
  if (std::exchange(me.live.has_touched, false)) me.group.order->end_epoch(me.warp);
  UnmetLanes met;
  for (const UnmetLanes::Open& open : me.live.lanes.open) {
    if (open.given != 0 || open.is_sequential) {
      lane_releases_.allow(actor, open.epoch, open.openers);
    } else {
      met.open.push_back(open);  // Each lane's fence is still its own.
    }
  }
  me.live.lanes = std::move(met);
}

void RaceDetector::sync_lanes(ActorId actor, std::uint32_t lanes) {
  Me me = me_of(actor);
  if (me.group.order == nullptr) return;
  UnmetLanes& unmet = me.live.lanes;
  if ((unmet.learners & lanes) != 0) unmet.learners |= lanes;
  for (UnmetLanes::Open& open : unmet.open) {
    if ((open.openers & lanes) == 0) continue;
    if (open.given != 0) {
      open.openers |= lanes;
    } else if (open.is_sequential) {
      lane_releases_.allow(actor, open.epoch, open.openers & lanes);
    }
  }
  if ((unmet.writers & lanes) != 0) {
    lane_releases_.add(actor, me.epoch(), 0);
    unmet.add({.epoch = me.epoch(), .openers = lanes, .given = lanes});
  }
  if (std::exchange(me.live.has_touched, false) || !unmet.open.empty())
    me.group.order->end_epoch(me.warp);
}

}  // namespace cuco::check
