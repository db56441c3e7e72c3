// SPDX-License-Identifier: Apache-2.0
// The rules are those of the PTX memory model, as far as they matter for synchronisation:
//
//   release pattern   st.release X            or  fence; st.relaxed X     publishes to X
//   acquire pattern   ld.acquire X            or  ld.relaxed X; fence     learns what X published
//   a read-modify-write continues what was published to X (release sequence); a plain store ends it
//
// An edge exists only if both sides' scopes include the other actor. A fence's scope limits it too.
#include "check/race.h"

#include <algorithm>

#include "base/assert.h"

namespace cuco::check {
namespace {

bool releases(Order order) {
  return order == Order::Release || order == Order::AcqRel || order == Order::Sc;
}

bool acquires(Order order) {
  return order == Order::Acquire || order == Order::AcqRel || order == Order::Sc;
}

}  // namespace

ActorId RaceDetector::add_actors(const ActorInfo& info,
                                 std::uint32_t count,
                                 const ClockPtr& start) {
  const auto first = static_cast<ActorId>(actors_.size());
  Actor actor;
  actor.info = info;
  actor.clock = start;
  actors_.resize(actors_.size() + count, actor);
  return first;
}

RaceDetector::Cell& RaceDetector::cell(Address address) {
  const std::uint64_t index = address >> 2U;
  const std::uint64_t page = index / kPageCells;
  if (page != last_page_) {
    std::unique_ptr<Page>& slot = cells_[page];
    if (!slot) slot = std::make_unique<Page>();
    last_page_ = page;
    last_ = slot.get();
  }
  return (*last_)[index % kPageCells];
}

bool RaceDetector::happened_before(const Stamp& stamp, const Actor& me, ActorId self) const {
  if (stamp.actor == self) return true;
  if (me.clock->epoch_of(stamp.actor) >= stamp.epoch) return true;
  const ActorInfo& other = actors_[stamp.actor].info;
  return other.operation != 0 && me.clock->operation_of(other.chain) >= other.operation;
}

bool RaceDetector::scope_includes(Scope scope, const ActorInfo& a, const ActorInfo& b) const {
  switch (scope) {
    case Scope::Cta:
      return a.block == b.block;
    case Scope::Cluster:
    case Scope::Gpu:
      return a.device == b.device;
    case Scope::Sys:
      return true;
  }
  return true;
}

bool RaceDetector::morally_strong(const Stamp& a, const Stamp& b) const {
  if (a.strong == 0 || b.strong == 0) return false;
  const ActorInfo& ia = actors_[a.actor].info;
  const ActorInfo& ib = actors_[b.actor].info;
  return scope_includes(static_cast<Scope>(a.strong - 1), ia, ib) &&
         scope_includes(static_cast<Scope>(b.strong - 1), ib, ia);
}

void RaceDetector::check_cell(Cell& cell, Address address, const Stamp& now, AccessKind kind) {
  const Actor& me = actors_[now.actor];
  const bool writes = kind != AccessKind::Load;
  const auto conflicts = [&](const Stamp& old) {
    return old.actor != kNoActor && (old.bytes_mask & now.bytes_mask) != 0 &&
           !morally_strong(old, now) && !happened_before(old, me, now.actor);
  };
  if (conflicts(cell.write)) report_({address, cell.write, true, now, writes});
  if (writes) {
    for (const Stamp& read : cell.reads) {
      if (conflicts(read)) report_({address, read, false, now, true});
    }
    cell.write = now;
    cell.reads = {};
    return;
  }
  // Two readers are remembered: enough to show a race with a later write, rarely all of them. One
  // that is ordered before us needs no memory of its own: whoever is ordered after us is after it.
  Stamp& slot = happened_before(cell.reads[0], me, now.actor) ? cell.reads[0] : cell.reads[1];
  slot = now;
}

void RaceDetector::access(ActorId actor, const Access& access) {
  CUCO_ASSERT(actor != kNoActor && actor < actors_.size());
  if (is_strong(access.order)) synchronise(actor, access);
  Stamp now;
  now.actor = actor;
  now.epoch = actors_[actor].epoch;
  now.site = access.site;
  now.lane = access.lane;
  now.strong = is_strong(access.order)
                   ? static_cast<std::uint8_t>(1 + static_cast<unsigned>(access.scope))
                   : std::uint8_t{0};
  const Address end = access.address + access.bytes;
  for (Address word = access.address & ~Address{3}; word < end; word += 4) {
    const Address from = std::max(word, access.address);
    const Address to = std::min(word + 4, end);
    now.bytes_mask = static_cast<std::uint8_t>(((1U << (to - from)) - 1U) << (from - word));
    check_cell(cell(word), word, now, access.kind);
  }
  // A releasing store is part of what it publishes, so the next epoch begins only after it.
  if (is_strong(access.order) && access.kind != AccessKind::Load && releases(access.order)) {
    ++actors_[actor].epoch;
  }
}

void RaceDetector::synchronise(ActorId actor, const Access& access) {
  Actor& me = actors_[actor];
  const Address at = access.address & ~Address{3};
  const auto found = flags_.find(at);
  const bool loads = access.kind != AccessKind::Store;
  const bool stores = access.kind != AccessKind::Load;
  ClockPtr carried;  // what a read-modify-write passes on
  if (loads && found != flags_.end() && found->second.clock) {
    const Flag& flag = found->second;
    if (scope_includes(flag.scope, actors_[flag.writer].info, me.info) &&
        scope_includes(access.scope, me.info, actors_[flag.writer].info)) {
      if (acquires(access.order)) {
        me.clock = Clock::join(me.clock, flag.clock);
      } else {
        me.pending = Clock::join(me.pending, flag.clock);
      }
      carried = flag.clock;
    }
  }
  if (!stores) return;
  ClockPtr published;
  Scope scope = access.scope;
  if (releases(access.order)) {
    published = Clock::with_actor(me.clock, actor, me.epoch);
  } else if (me.fenced) {
    published = me.fenced;
    scope = std::min(scope, me.fence_scope);
  }
  if (access.kind == AccessKind::Atomic) published = Clock::join(published, carried);
  if (published || found != flags_.end()) flags_[at] = {published, actor, scope};
}

void RaceDetector::fence(ActorId actor, Order order, Scope scope) {
  Actor& me = actors_[actor];
  if (acquires(order) && me.pending) {
    me.clock = Clock::join(me.clock, me.pending);
    me.pending = nullptr;
  }
  if (releases(order)) {
    me.fenced = publish(actor);
    me.fence_scope = scope;
  }
}

ClockPtr RaceDetector::publish(ActorId actor) {
  Actor& me = actors_[actor];
  ClockPtr all = Clock::with_actor(me.clock, actor, me.epoch);
  ++me.epoch;
  return all;
}

void RaceDetector::learn(ActorId actor, const ClockPtr& clock) {
  actors_[actor].clock = Clock::join(actors_[actor].clock, clock);
}

ClockPtr RaceDetector::writer_clock(Address address) {
  const Stamp& write = cell(address & ~Address{3}).write;
  if (write.actor == kNoActor) return Clock::zero();
  return Clock::with_actor(actors_[write.actor].clock, write.actor, write.epoch);
}

void RaceDetector::forget(Address address, std::uint64_t bytes) {
  for (Address word = address & ~Address{3}; word < address + bytes;) {
    const std::uint64_t page = (word >> 2U) / kPageCells;
    const Address page_end = (page + 1) * kPageCells * 4;
    if (!cells_.contains(page)) {
      word = page_end;
      continue;
    }
    for (; word < std::min(page_end, address + bytes); word += 4) {
      cell(word) = {};
      flags_.erase(word);
    }
  }
}

}  // namespace cuco::check
