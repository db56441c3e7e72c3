// SPDX-License-Identifier: Apache-2.0
// The rules are those of the PTX memory model, as far as they matter for synchronisation:
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
#include "check/race.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/assert.h"

namespace cuco::check {
namespace {

bool releases(Order order) {
  return order == Order::Release || order == Order::AcqRel || order == Order::Sc;
}

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

/// Which lane had which word, the same for all words of an access, so that neighbours have equal
/// stamps: 3 bits say how many words a lane has (1, 2 or 4; 3: all are one lane's), or how many
/// lanes a word has (5: two, 6: four; the first of them counts), the others hold the place, in
/// units of what a lane or a word has, at which lane 0 would begin, or the lane.
struct LaneCode {
  static constexpr unsigned kOneLane = 3;
  static constexpr unsigned kShared = 4;
  static constexpr unsigned kShift = 13;
  static constexpr std::uint64_t kMask = (1U << kShift) - 1;

  static std::uint16_t of(const Access& access) {
    const std::uint32_t bytes = access.lane_bytes;
    if (bytes == 0 || bytes == access.bytes) return code(kOneLane, access.lane);
    if (bytes == 4 || bytes == 8 || bytes == 16) {
      const unsigned size = bytes == 4 ? 0 : bytes == 8 ? 1 : 2;
      return code(size, access.address / 4 - (std::uint64_t{access.lane} << size));
    }
    if (bytes > 2 || access.address % 4 != 0) return code(kOneLane, kManyLanes);
    return code(kShared + (bytes == 2 ? 1 : 2), access.address / bytes - access.lane);
  }
  static std::uint16_t lane(std::uint16_t code, Address word) {
    const unsigned size = code >> kShift;
    if (size == kOneLane) return code & kMask;
    if (size > kShared)
      return static_cast<std::uint16_t>(((word >> (size == kShared + 1 ? 1 : 0)) - code) & kMask);
    return static_cast<std::uint16_t>(((word / 4 - code) & kMask) >> size);
  }

 private:
  static std::uint16_t code(unsigned size, std::uint64_t rest) {
    return static_cast<std::uint16_t>(size << kShift | (rest & kMask));
  }
};

constexpr unsigned kLanes = 32;
constexpr std::uint32_t kAllLanes = ~0U;

/// Those that make the access; none, if it is not known.
std::uint32_t lanes_of(const Access& access) {
  if (access.by_all_lanes) return kAllLanes;
  if (access.lane >= kLanes) return 0;
  const std::uint64_t count =
      access.lane_bytes == 0 ? 1 : (access.bytes + access.lane_bytes - 1) / access.lane_bytes;
  const std::uint64_t mask = count >= kLanes ? kAllLanes : (std::uint64_t{1} << count) - 1;
  return static_cast<std::uint32_t>(mask << access.lane);
}

}  // namespace

/// The actor of an access, with what was found out about others meanwhile.
struct RaceDetector::Me {
  ActorId actor;
  const Group& group;
  Live& live;
  unsigned warp;  ///< In its block.
  // Neighbouring cells mostly have the same writer: the last one found to be ordered.
  ActorId ordered_actor = kNoActor;
  std::uint32_t ordered_epoch = 0;
  ChainId ordered_chain = 0;
  std::uint64_t ordered_operation = 0;
  std::uint32_t lanes = 0;  ///< Of the access; 0: not known.

  [[nodiscard]] std::uint32_t epoch() const {
    return group.order != nullptr ? group.order->epoch(warp) : live.epoch;
  }
};

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
  groups_.push_back(std::move(group));
  return groups_.back().first;
}

void RaceDetector::retire(ActorId first) {
  Group& group = groups_[group_of_[first]];
  group.live.reset();
  group.order = nullptr;
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
  const ActorInfo& other = groups_[group_of_[stamp.actor]].info;
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
    const auto cover = covers_.empty() ? covers_.end() : covers_.find(other.chain);
    return cover != covers_.end() &&
           me.live.clock->operation_of(cover->second.by) >= cover->second.operation;
  }
  me.ordered_actor = stamp.actor;
  me.ordered_epoch = stamp.epoch;
  return true;
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
  const ActorInfo& ia = info(a.actor);
  const ActorInfo& ib = info(b.actor);
  return scope_includes(static_cast<Scope>(a.strong - 1), ia, ib) &&
         scope_includes(static_cast<Scope>(b.strong - 1), ib, ia);
}

bool RaceDetector::is_of_other_lane(const Stamp& write, const Stamp& read, Address word) {
  if (write.actor != read.actor || write.epoch != read.epoch || write.site == read.site ||
      (write.strong | read.strong) != 0 || (write.bytes_mask & read.bytes_mask) == 0) {
    return false;
  }
  const std::uint16_t writer = LaneCode::lane(write.lane, word);
  return writer != kManyLanes && writer != LaneCode::lane(read.lane, word);
}

bool RaceDetector::has_ended(ActorId actor, const Clock& clock) const {
  const ActorInfo& who = info(actor);
  if (who.operation != 0 && clock.operation_of(who.chain) >= who.operation) return true;
  const auto cover = covers_.find(who.chain);
  return cover != covers_.end() && clock.operation_of(cover->second.by) >= cover->second.operation;
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
    if (old.actor == kNoActor || old.actor == now.actor || (old.bytes_mask & now.bytes_mask) == 0) {
      return false;
    }
    const bool is_ordered = happened_before(old, me);
    unmet = is_ordered ? unmet_lanes(old, is_write, now, address, me) : Race::Unmet::None;
    return (!is_ordered || unmet != Race::Unmet::None) && !morally_strong(old, now);
  };
  bool races =
      conflicts(cell.write, true) || (!writes && is_of_other_lane(cell.write, now, address));
  if (races) tell(address, cell.write, true, now, kind, unmet);
  if (writes) {
    for (const Stamp& read : cell.reads) {
      if (!conflicts(read, false)) continue;
      races = true;
      tell(address, read, false, now, kind, unmet);
    }
    cell.write = now;
    cell.reads = {};
    return races;
  }
  // Two readers are remembered: enough to show a race with a later write, rarely all of them. One
  // that is ordered before us needs no memory of its own: whoever is ordered after us is after it.
  // Of the same piece of work one stands for all.
  const auto replaceable = [&](const Stamp& old) {
    return old.actor == kNoActor || old.actor == now.actor || happened_before(old, me) ||
           group_of_[old.actor] == group_of_[now.actor];
  };
  Stamp& slot = replaceable(cell.reads[0]) ? cell.reads[0] : cell.reads[1];
  if (&slot == &cell.reads[1] && !replaceable(slot)) {
    const ActorInfo& first = info(cell.reads[0].actor);
    if (first.operation != 0 && first.chain == me.group.info.chain) {
      cell.reads[0] = now;
      return races;
    }
  }
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
    const bool by_word = (before.write.actor == now.actor && before.write.lane != now.lane) ||
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
  if (is_strong(access.order)) synchronise(me, access);
  Stamp now;
  now.actor = actor;
  now.epoch = me.epoch();
  now.site = access.site;
  now.lane = LaneCode::of(access);
  if (access.kind != AccessKind::Load) {
    me.live.has_written = true;
    me.live.lanes.writers |= me.lanes;
  }
  now.strong = is_strong(access.order)
                   ? static_cast<std::uint8_t>(1 + static_cast<unsigned>(access.scope))
                   : std::uint8_t{0};
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
    publish(actor);
  }
}

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

ClockPtr RaceDetector::knowledge(ActorId actor) const {
  const Group& group = groups_[group_of_[actor]];
  if (group.live == nullptr) return nullptr;
  const unsigned warp = actor - group.first;
  const ClockPtr& clock = group.live[warp].clock;
  if (group.order == nullptr) return clock;
  // What it learned at barriers of its block is kept there.
  BlockOrder::Epochs known = group.order->known(warp);
  for (std::uint32_t& epoch : known) {
    if (epoch < group.order->base()) epoch = 0;
  }
  return Clock::with_actors(clock, group.first, std::span(known).first(group.count));
}

ClockPtr RaceDetector::publish(ActorId actor) {
  Me me = me_of(actor);
  ClockPtr all = Clock::with_actor(knowledge(actor), actor, me.epoch());
  if (me.group.order != nullptr) {
    // The block's own order is learnt at its barriers; here only the epoch ends.
    me.group.order->end_epoch(me.warp);
  } else {
    ++me.live.epoch;
  }
  return all;
}

void RaceDetector::learn(ActorId actor, const ClockPtr& clock) {
  if (!clock) return;
  Me me = me_of(actor);
  me.live.clock = Clock::join(me.live.clock, clock);
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
  if (const auto found = flags_.find(address & ~Address{3}); found != flags_.end()) {
    for (const SyncHistory::Write& write : found->second.writes()) {
      for (const ClockPtr& clock : write.clocks)
        told = Clock::join(told, clock);
    }
  }
  const Group& group = groups_[group_of_[stamp.actor]];
  if (stamp.strong != 0) return Clock::join(told, group.start);
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
      clock,
      [&](ActorId actor) {
        const ActorInfo& who = info(actor);
        return who.operation != 0 && clock->operation_of(who.chain) >= who.operation;
      },
      [&](ChainId chain) {
        const auto cover = covers_.find(chain);
        return cover != covers_.end() &&
               clock->operation_of(cover->second.by) >= cover->second.operation;
      });
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
  std::erase_if(flags_,
                [&](const auto& entry) { return entry.first >= address && entry.first < end; });
}

}  // namespace cuco::check
