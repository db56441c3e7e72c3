// SPDX-License-Identifier: Apache-2.0
// Who has touched what, and whether the next one comes after it. What comes after what is decided
// in race_order.cc.
#include "check/race/race.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/assert.h"
#include "check/race/lane_code.h"
#include "check/race/race_actor.h"

namespace cuco::check {

ActorId RaceDetector::add_actors(const ActorInfo& info,
                                 std::uint32_t count,
                                 const ClockPtr& start,
                                 BlockOrder* order) {
  Group group;
  group.info = info;
  group.first = static_cast<ActorId>(group_of_.size());
  group.count = count;
  group.live = std::make_unique<Live[]>(count);
  group.order = order;
  for (std::uint32_t i = 0; i < count; ++i)
    group.live[i].clock = start;
  if (order != nullptr) group.start = start;
  group_of_.resize(group_of_.size() + count, static_cast<std::uint32_t>(groups_.size()));
  pieces_.push_back({info.chain, info.operation, group.first, count});
  groups_.push_back(std::move(group));
  return groups_.back().first;
}

void RaceDetector::retire(ActorId first) {
  Group& group = groups_[group_of_[first]];
  group.live.reset();
  group.order = nullptr;
}

void RaceDetector::adopt(ActorId done, ActorId by) {
  Group& group = groups_[group_of_[done]];
  CUCO_ASSERT(group.count == 1);
  group.part_of.actor = by;
  group.part_of.epoch = me_of(by).epoch();
  retire(done);
}

RaceDetector::Page& RaceDetector::page(Address address) {
  const std::uint64_t number = address / (4 * kPageCells);
  Cached& cached = cached_[number % kCached];
  if (cached.number != number) cached = {number, &pages_[number]};
  return *cached.page;
}

RaceDetector::Me RaceDetector::me_of(ActorId actor) {
  CUCO_ASSERT(actor != kNoActor && actor < group_of_.size());
  Group& group = groups_[group_of_[actor]];
  CUCO_ASSERT(group.live != nullptr);
  const unsigned warp = actor - group.first;
  return Me{.actor = actor, .group = group, .live = group.live[warp], .warp = warp};
}

bool RaceDetector::happened_before(const Stamp& stamp, Me& me) const {
  if (stamp.actor == me.actor) return true;
  if (stamp.actor == me.ordered_actor && stamp.epoch <= me.ordered_epoch) return true;
  const bool same_block = stamp.actor - me.group.first < me.group.count;
  if (same_block && me.group.order != nullptr) {
    return me.group.order->known(me.warp, stamp.actor - me.group.first) >= stamp.epoch;
  }
  const Group& theirs = groups_[group_of_[stamp.actor]];
  if (theirs.part_of.actor != kNoActor) return happened_before(theirs.part_of, me);
  const ActorInfo& other = theirs.info;
  if (other.operation != 0 && other.chain == me.ordered_chain &&
      other.operation <= me.ordered_operation) {
    return true;
  }
  if (!me.live.clock) return false;
  if (other.operation != 0 && me.live.clock->operation_of(other.chain) >= other.operation) {
    me.ordered_chain = other.chain;
    me.ordered_operation = other.operation;
    return true;
  }
  if (me.live.clock->epoch_of(stamp.actor) < stamp.epoch) {
    return covers(*me.live.clock, cover_of(other.chain));
  }
  me.ordered_actor = stamp.actor;
  me.ordered_epoch = stamp.epoch;
  return true;
}

bool RaceDetector::came_before_kernel(const Stamp& stamp, const Group& group) const {
  return group.start && (has_ended(stamp.actor, *group.start) ||
                         group.start->epoch_of(stamp.actor) >= stamp.epoch);
}

bool RaceDetector::scope_includes(Scope scope, const ActorInfo& a, const ActorInfo& b) const {
  switch (scope) {
    case Scope::Cta:
    case Scope::Cluster:  // of one block: there are no others here
      return a.block == b.block;
    case Scope::Gpu:
      return a.device == b.device;
    case Scope::Sys:
      return true;
  }
  return true;
}

bool RaceDetector::are_strong(const Stamp& a, const Stamp& b) const {
  if (!a.strong || !b.strong) return false;
  const ActorInfo& ia = info(a.actor);
  const ActorInfo& ib = info(b.actor);
  return scope_includes(a.strong.scope(), ia, ib) && scope_includes(b.strong.scope(), ib, ia);
}

bool RaceDetector::is_of_other_lane(const Stamp& earlier,
                                    const Stamp& later,
                                    bool later_writes,
                                    Address word) {
  if (earlier.actor != later.actor || earlier.epoch != later.epoch || earlier.site == later.site ||
      earlier.strong || later.strong || (earlier.bytes_mask & later.bytes_mask) == 0) {
    return false;
  }
  if (LaneCode::are_apart(earlier.lane, later.lane, word)) return true;
  const bool has_one_writer = LaneCode::is_known(later_writes ? later.lane : earlier.lane, word);
  const std::uint16_t other = later_writes ? earlier.lane : later.lane;
  return has_one_writer &&
         (later_writes ? LaneCode::is_every(other) : !LaneCode::is_known(other, word));
}

bool RaceDetector::has_ended(ActorId actor, const Clock& clock) const {
  const ActorInfo& who = info(actor);
  if (who.operation != 0 && clock.operation_of(who.chain) >= who.operation) return true;
  return covers(clock, cover_of(who.chain));
}

Race::Unmet RaceDetector::unmet_lanes(
    const Stamp& old, bool is_write, const Stamp& now, Address word, const Me& me) const {
  const UnmetLanes& mine = me.live.lanes;
  if (mine.learners == 0 && lane_releases_.empty()) return Race::Unmet::None;
  const std::uint32_t place = old.actor - me.group.first;
  const bool same_block = place < me.group.count && me.group.order != nullptr;
  const std::uint16_t writer = LaneCode::lane(old.lane, word);
  // A value that was read may have reached the lane that releases by a shuffle: only writes count.
  if (is_write && writer < kLanes && lane_releases_.has(old.actor) &&
      (same_block || (me.live.clock && !has_ended(old.actor, *me.live.clock)))) {
    const std::uint32_t known =
        same_block ? me.group.order->known(me.warp, place) : me.live.clock->epoch_of(old.actor);
    if (lane_releases_.hold_back(old.actor, writer, old.epoch, known))
      return Race::Unmet::BeforeRelease;
  }
  if (mine.learners == 0 || same_block) return Race::Unmet::None;
  const std::uint16_t lane = LaneCode::lane(now.lane, word);
  const std::uint32_t lanes = lane < kLanes ? 1U << lane : me.lanes == kAllLanes ? kAllLanes : 0;
  if ((lanes & ~mine.learners) == 0) return Race::Unmet::None;
  const bool knew = mine.before && (has_ended(old.actor, *mine.before) ||
                                    mine.before->epoch_of(old.actor) >= old.epoch);
  return knew ? Race::Unmet::None : Race::Unmet::AfterAcquire;
}

void RaceDetector::tell(Address word,
                        const Stamp& earlier,
                        bool writes,
                        const Stamp& now,
                        AccessKind kind,
                        Race::Unmet unmet) {
  Race race{word, earlier, writes, now, kind != AccessKind::Load, unmet};
  race.earlier.lane = LaneCode::lane(earlier.lane, word);
  race.later.lane = LaneCode::lane(now.lane, word);
  report_(race);
}

bool RaceDetector::check_cell(
    Cell& cell, Address address, const Stamp& now, AccessKind kind, Me& me) {
  const bool writes = kind != AccessKind::Load;
  Race::Unmet unmet = Race::Unmet::None;
  const auto conflicts = [&](const Stamp& old, bool is_write) {
    if (old.actor == kNoActor || (old.bytes_mask & now.bytes_mask) == 0) return false;
    if (me.reads_constant && !came_before_kernel(old, me.group)) {
      unmet = Race::Unmet::BeforeKernel;
      return true;
    }
    if (old.actor == now.actor) return false;
    const bool is_ordered = happened_before(old, me);
    unmet = is_ordered ? unmet_lanes(old, is_write, now, address, me) : Race::Unmet::None;
    if (is_ordered && unmet == Race::Unmet::None) return false;
    if (!are_strong(old, now)) return true;
    if (is_ordered || old.strong.same_size(now.strong)) return false;
    unmet = Race::Unmet::OtherSize;
    return true;
  };
  bool races = conflicts(cell.write, true) || is_of_other_lane(cell.write, now, writes, address);
  if (races) tell(address, cell.write, true, now, kind, unmet);
  if (writes) {
    for (const Stamp& read : cell.reads) {
      if (!conflicts(read, false) && !is_of_other_lane(read, now, true, address)) continue;
      races = true;
      tell(address, read, false, now, kind, unmet);
    }
    cell.write = now;
    cell.reads = {};
    return races;
  }
  // Two readers are remembered: enough to show a race with a later write, rarely all of them. One
  // that is ordered before us needs no memory of its own: whoever is ordered after us is after it.
  // Of one piece of work they are the first and the last: who comes last mostly tells that all have
  // read, and then it is the first who has not been waited for.
  const auto is_over = [&](const Stamp& old) {
    return old.actor == kNoActor || old.actor == now.actor || happened_before(old, me);
  };
  const auto is_alike = [&](const Stamp& old) {
    const ActorInfo& other = info(old.actor);
    return group_of_[old.actor] == group_of_[now.actor] ||
           (other.operation != 0 && other.chain == me.group.info.chain);
  };
  auto& [first, last] = cell.reads;
  const bool takes_first = is_over(first) || (!is_over(last) && !is_alike(last) && is_alike(first));
  Stamp& slot = takes_first ? first : last;
  slot = now;
  return races;
}

void RaceDetector::access_page(
    Page& page, Address from, Address to, Stamp now, AccessKind kind, Me& me) {
  const Address base = from / (4 * kPageCells) * (4 * kPageCells);
  const bool whole = from == base && to == base + 4 * kPageCells;
  now.bytes_mask = 0xF;
  if (whole && page.is_uniform()) {
    Cell cell = page.at(0);
    check_cell(cell, from, now, kind, me);
    page.set_all(cell);
    return;
  }
  // Neighbours mostly have the same history: then what became of one becomes of the next.
  Cell before;
  Cell after;
  bool is_known = false;
  for (Address word = from & ~Address{3}; word < to; word += 4) {
    const std::size_t index = (word - base) / 4;
    const Cell& cell = page.at(index);
    const bool full = word >= from && word + 4 <= to;
    if (full && is_known && Page::same(cell, before)) {
      page.set(index, after);
      continue;
    }
    before = cell;
    after = cell;
    const Address first = std::max(word, from);
    const Address last = std::min(word + 4, to);
    now.bytes_mask = static_cast<std::uint8_t>(((1U << (last - first)) - 1U) << (first - word));
    // Two layouts of one warp's lanes may agree on one word and not on the next; and some lanes
    // may know, or have made known, what others have not.
    const auto is_laid_out_otherwise = [&](const Stamp& mine) {
      return mine.actor == now.actor && mine.lane != now.lane;
    };
    const bool by_word =
        is_laid_out_otherwise(before.write) ||
        (kind != AccessKind::Load && std::ranges::any_of(before.reads, is_laid_out_otherwise)) ||
        me.live.lanes.learners != 0 ||
        (!lane_releases_.empty() && lane_releases_.has(before.write.actor));
    is_known = !check_cell(after, word, now, kind, me) && full && !by_word;
    page.set(index, after);
  }
  if (whole && kind == AccessKind::Store) page.set_all(Cell(page.at(0)));
}

void RaceDetector::access(ActorId actor, const Access& access) {
  Me me = me_of(actor);
  const bool has_lanes = me.group.order != nullptr;
  if (has_lanes) me.lanes = lanes_of(access);
  me.reads_constant = has_lanes && access.is_constant;
  if (is_strong(access.order)) synchronise(me, access);
  Stamp now;
  now.actor = actor;
  now.epoch = me.epoch();
  now.site = access.site;
  now.lane = LaneCode::of(access);
  me.live.has_touched = true;
  if (access.kind != AccessKind::Load) me.live.lanes.writers |= me.lanes;
  if (is_strong(access.order)) now.strong = Strength(access.scope, access.kind, access.bytes);
  const Address end = access.address + access.bytes;
  for (Address at = access.address; at < end;) {
    const Address next = std::min(end, (at / (4 * kPageCells) + 1) * (4 * kPageCells));
    access_page(page(at), at, next, now, access.kind, me);
    at = next;
  }
  // A releasing store is part of what it publishes, so the next epoch begins only after it.
  const bool publishes = access.kind != AccessKind::Load && releases(access.order);
  if (is_strong(access.order) && publishes && !access.goes_on) {
    if (me.lanes != 0 && !me.live.lanes.are_spoken_for_by(me.lanes))
      lane_releases_.add(actor, me.epoch(), me.lanes);
    end_epoch(me);
  }
}

ClockPtr RaceDetector::knowledge(ActorId actor) const {
  const Group& group = groups_[group_of_[actor]];
  if (group.live == nullptr) return nullptr;
  const unsigned warp = actor - group.first;
  const ClockPtr& clock = group.live[warp].clock;
  if (group.order == nullptr) return clock;
  // What it learned at barriers of its block is kept there.
  BlockOrder::Epochs known = group.order->known(warp);
  auto& before = group.live[warp].known;
  if (before.all && before.clock == clock && before.epochs == known) return before.all;
  before.clock = clock;
  before.epochs = known;
  for (std::uint32_t& epoch : known) {
    if (epoch < group.order->base()) epoch = 0;
  }
  before.all = Clock::with_actors(clock, group.first, std::span(known).first(group.count));
  return before.all;
}

void RaceDetector::end_epoch(const Me& me) {
  if (me.group.order != nullptr) {
    // The block's own order is learnt at its barriers; here only the epoch ends.
    me.group.order->end_epoch(me.warp);
  } else {
    ++me.live.epoch;
  }
}

ClockPtr RaceDetector::publish(ActorId actor) {
  Me me = me_of(actor);
  ClockPtr all = Clock::with_actor(knowledge(actor), actor, me.epoch());
  end_epoch(me);
  return all;
}

void RaceDetector::learn(ActorId actor, const ClockPtr& clock) {
  if (!clock) return;
  Me me = me_of(actor);
  me.live.clock = join(me.live.clock, clock);
  if (me.group.order == nullptr) return;
  // Another block may know more about warps of our own.
  BlockOrder::Epochs told{};
  bool any = false;
  for (std::uint32_t i = 0; i < me.group.count; ++i) {
    told[i] = clock->epoch_of(me.group.first + i);
    any = any || told[i] != 0;
  }
  if (any) me.group.order->learn(me.warp, told);
}

Stamp RaceDetector::last_write(Address address) {
  const Page& where = page(address);
  const Address word = address / 4 % kPageCells;
  Stamp stamp = where.at(word).write;
  stamp.lane = LaneCode::lane(stamp.lane, address);
  return stamp;
}

std::array<Stamp, 2> RaceDetector::last_reads(Address address) {
  return page(address).at(address / 4 % kPageCells).reads;
}

ClockPtr RaceDetector::clock_of(const Stamp& stamp) const {
  if (stamp.actor == kNoActor) return nullptr;
  return Clock::with_actor(knowledge(stamp.actor), stamp.actor, stamp.epoch);
}

ClockPtr RaceDetector::told_by(Address address) {
  const Stamp stamp = last_write(address);
  if (stamp.actor == kNoActor) return nullptr;
  ClockPtr told;
  if (const SyncHistory* found = flags_.at(address); found != nullptr) {
    SyncHistory::Word words;
    for (const SyncHistory::Write& write : found->writes())
      words.join(write);
    for (const ByScope* clocks : {&words.clocks, &words.sequential}) {
      for (const ClockPtr& clock : *clocks)
        told = Clock::join(told, clock);
    }
  }
  const Group& group = groups_[group_of_[stamp.actor]];
  if (stamp.strong) return Clock::join(told, group.start);
  told = Clock::join(told, clock_of(stamp));
  // Whoever is done has forgotten what it knew: its piece of work speaks for it.
  if (group.live == nullptr && group.info.operation != 0) {
    return Clock::with_chain(told, group.info.chain, group.info.operation);
  }
  if (group.live != nullptr) (void)publish(stamp.actor);
  return told;
}

ClockPtr RaceDetector::prune(const ClockPtr& clock) const {
  if (!clock) return clock;
  return Clock::without(
      clock, [&](ActorId actor) { return speaks_for(*clock, actor); },
      [&](ChainId chain) { return covers(*clock, cover_of(chain)); });
}

void RaceDetector::forget(Address address, std::uint64_t bytes) {
  const Address end = address + bytes;
  for (Address at = address; at < end;) {
    const Address next = std::min(end, (at / (4 * kPageCells) + 1) * (4 * kPageCells));
    const std::uint64_t number = at / (4 * kPageCells);
    const auto found = pages_.find(number);
    if (found != pages_.end()) {
      if (next - at == 4 * kPageCells) {
        if (cached_[number % kCached].number == number) cached_[number % kCached] = {};
        pages_.erase(found);
      } else {
        for (Address word = at & ~Address{3}; word < next; word += 4)
          found->second.set(word / 4 % kPageCells, {});
      }
    }
    at = next;
  }
  if (bytes != 0) flags_.forget(address, bytes);
}

}  // namespace cuco::check
