// SPDX-License-Identifier: Apache-2.0
/// \file
/// Data races by happens-before, over everything that touches memory: warps, copies, puts.
///
/// Two accesses race if they overlap, one of them writes, neither happens before the other, and
/// they are not both strong, of one size, with scopes that include each other. Lanes of one warp
/// race where they have not met since, if it is known which of them made the accesses.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "check/race/block_order.h"
#include "check/race/happens_before.h"
#include "check/race/lane_clocks.h"
#include "check/race/lane_releases.h"
#include "check/race/strength.h"
#include "check/race/sync_history.h"
#include "check/race/sync_places.h"
#include "check/race/word_states.h"
#include "vgpu/gpu/observer.h"

namespace cuco::check {

using vgpu::AccessKind;
using vgpu::Address;
using vgpu::Order;
using vgpu::Scope;

/// Who an actor is. Warps of a block have consecutive ids.
struct ActorInfo {
  std::uint32_t block = 0;  ///< Same for all warps of a block; unique per operation.
  std::uint32_t device = 0;
  ChainId chain = 0;            ///< The stream it belongs to…
  std::uint64_t operation = 0;  ///< …and its place in it.
};

/// One access as it was made. `site` is the caller's own index for reports.
struct Stamp {
  ActorId actor = kNoActor;
  std::uint32_t epoch = 0;
  std::uint32_t site = 0;
  std::uint8_t bytes_mask = 0;  ///< Of the 4-byte cell.
  Strength strong;              ///< Nothing: it is weak.
  std::uint16_t lane = 0;       ///< See LaneCode; in a Race, the lane, or kManyLanes.
};

/// Lane number of an access by several lanes at once, or where it is not known.
inline constexpr std::uint16_t kManyLanes = 0xFF;

struct Access {
  AccessKind kind = AccessKind::Load;
  Order order = Order::Weak;
  Scope scope = Scope::Sys;
  Address address = 0;  ///< Canonical.
  std::uint64_t bytes = 0;
  std::uint32_t site = 0;
  std::uint16_t lane = 0;        ///< Of the first byte…
  std::uint32_t lane_bytes = 0;  ///< …and how many each lane has; 0: all of them are that lane's.
  bool by_all_lanes = false;     ///< Each of them touches all of it.
  /// Of a barrier of NCCL: it polls with relaxed order and acquires elsewhere (ncclBarrierSession
  /// waits for its LSA part so, and then with acquire order for its GIN part).
  bool of_library = false;
  bool is_addition = false;  ///< Atomic.
  bool is_constant = false;  ///< A load of what the kernel takes for constant (ld.global.nc).
  bool goes_on = false;      ///< Elsewhere, as one operation: what comes next is no later.
  bool is_blind = false;     ///< A reduction by nobody who goes on: what it found tells nobody.
  bool is_delivery = false;  ///< By the NIC, which tells of all that it has delivered before.
  bool is_element = false;   ///< Of a vector: it does not publish the others, nor itself.
  // Strong ones: what the location holds, what it will hold, and what a reader makes of it. Without
  // them, whatever was published there counts as awaited.
  std::optional<std::uint64_t> before;
  std::optional<std::uint64_t> after;
  const AskDemand* ask = nullptr;
};

/// A wait counted on an addition, in whose place another one could have been, which knows nothing
/// of the wait.
struct StandIn {
  Address address = 0;
  Stamp awaited;
  Stamp other;
  Stamp wait;
};

struct Race {
  Address address = 0;
  Stamp earlier;
  bool earlier_writes = false;
  Stamp later;
  bool later_writes = false;
  /// They would be ordered if the lanes of a warp had met: those of the earlier one's before one of
  /// them released, those of the later one's after one of them acquired. BeforeKernel: they are,
  /// but the later one reads as if nothing changed while its kernel runs. OtherSize: both are
  /// strong, but not of one size.
  enum class Unmet : std::uint8_t {
    None,
    BeforeRelease,
    AfterAcquire,
    BeforeKernel,
    OtherSize
  } unmet = Unmet::None;
};

class RaceDetector {
 public:
  using Report = std::function<void(const Race&)>;
  explicit RaceDetector(Report report) : report_(std::move(report)) {}
  void on_stand_in(std::function<void(const StandIn&)> report) { stand_in_ = std::move(report); }

  /// Adds `count` actors that start with the knowledge `start`; returns the first. Warps of a block
  /// give the block's order, which must live until they are retired.
  ActorId add_actors(const ActorInfo& info,
                     std::uint32_t count,
                     const ClockPtr& start,
                     BlockOrder* order = nullptr);
  /// They are done: only who they were is kept.
  void retire(ActorId first);
  /// One that `by` has waited for: from now on it is part of what `by` does in this epoch. So a
  /// kernel that waits for many copies does not have to know each of them.
  void adopt(ActorId done, ActorId by);
  [[nodiscard]] const ActorInfo& info(ActorId actor) const {
    return groups_[group_of_[actor]].info;
  }

  void access(ActorId actor, const Access& access);
  void fence(ActorId actor, Order order, Scope scope, std::uint32_t lanes = 1);
  /// What barriers of a library saw with relaxed order is known to what comes after the kernel.
  void end_kernel(ActorId actor);
  /// A strong operation on memory that has no record of others (a block's shared memory): only what
  /// it orders. A value that no such operation left makes unknown what a wait demands.
  void meet_on(ActorId actor, Access access);
  void forget_meeting(Address address) { flags_.forget(address, 1); }
  /// Locations that are remembered as flags, and an end to all of them.
  [[nodiscard]] std::size_t flags() const { return flags_.size(); }
  void forget_flags() { flags_.clear(); }
  /// Somebody has written there in passing: who finds a flag there from now on either comes after
  /// that, and with it after all who have raised it, or races with it.
  void end_flags(Address address, std::uint64_t bytes) { flags_.forget(address, bytes); }
  /// What fences have made ready to be published, and what waits for one, by scope. A release is a
  /// fence and a flag of *one* thread, an acquire a flag and a fence; only what fence.sc orders
  /// goes with the warps of a block through their barriers.
  struct Fences {
    /// Published by the next strong store of the lanes that fenced.
    std::array<LaneClocks, 3> fenced;
    /// Seen by relaxed loads: known after the next fence of the lanes that loaded.
    std::array<LaneClocks, 3> pending;
    /// Before a fence.sc of anybody that happens before; known to whoever sees a flag raised since,
    /// after a fence.sc of its own.
    ByScope sequential;
    ByScope pending_sequential;
    ByScope library;  ///< Seen by a library's barrier: known after any acquire.
    /// Arrivals at a library's barrier that were seen. One arrival may add to a word of every rank
    /// (multimem): who has seen it in one of them knows that it comes before its own in all.
    ClockPtr arrivals;
  };
  void gather_fences(ActorId actor, Fences& to);
  void take_fences(ActorId actor, const Fences& from);
  /// The lanes of the warp met: what each of them has done and learnt is known to all.
  void sync_lanes(ActorId actor);
  /// Some of them did.
  void sync_lanes(ActorId actor, std::uint32_t lanes);

  /// What the actor has done and knows, published: its next epoch begins.
  ClockPtr publish(ActorId actor);
  void learn(ActorId actor, const ClockPtr& clock);
  [[nodiscard]] ClockPtr knowledge(ActorId actor) const;
  /// The same without what it learnt of its block at barriers.
  [[nodiscard]] ClockPtr clock(ActorId actor) const {
    const Group& group = groups_[group_of_[actor]];
    return group.live ? group.live[actor - group.first].clock : nullptr;
  }

  /// What a reader outside of kernels may know that finds the address as it is, generously: all
  /// that was published there, or all that the writer had done if it wrote it in passing.
  [[nodiscard]] ClockPtr told_by(Address address);
  /// The last write to the address: actor 0, if there was none.
  [[nodiscard]] Stamp last_write(Address address);
  /// Those who read it since: actor 0, if there were none.
  [[nodiscard]] std::array<Stamp, 2> last_reads(Address address);
  /// What the last write to the address tells a device that finds it there: what came before its
  /// kernel, and what the thread that wrote has released for the whole system.
  [[nodiscard]] ClockPtr released_with(Address address);

  /// Does the clock know that the actor is done?
  [[nodiscard]] bool knows(const ClockPtr& clock, ActorId actor) const {
    if (!clock) return false;
    const ActorInfo& who = info(actor);
    return (who.operation != 0 && clock->operation_of(who.chain) >= who.operation) ||
           clock->epoch_of(actor) != 0;
  }

  /// Does the clock know that this access is over?
  [[nodiscard]] bool is_known(const ClockPtr& clock, const Stamp& stamp) const {
    return clock && (has_ended(stamp.actor, *clock) || clock->epoch_of(stamp.actor) >= stamp.epoch);
  }
  /// Did it come before the kernel of this warp?
  [[nodiscard]] bool came_before_kernel(const Stamp& stamp, ActorId warp) const {
    return came_before_kernel(stamp, groups_[group_of_[warp]]);
  }

  /// The least value that the actor's last wait for the location would have taken, if known.
  [[nodiscard]] std::optional<std::uint64_t> demanded(ActorId actor, Address address) const;

  /// Forgets what was known about a range: freed or newly allocated memory has no history.
  void forget(Address address, std::uint64_t bytes);
  /// Drops from the clock what its own chains say already.
  [[nodiscard]] ClockPtr prune(const ClockPtr& clock) const;
  /// Operation 1 of `chain` is over when this one of `by` is.
  void cover(ChainId chain, ChainId by, std::uint64_t operation) {
    if (chain >= covers_.size()) covers_.resize(std::size_t{chain} + 1);
    covers_[chain] = {by, operation};
  }
  [[nodiscard]] std::uint64_t shadow_bytes() const {
    std::uint64_t bytes = pages_.size() * sizeof(Page);
    for (const auto& [number, page] : pages_)
      bytes += page.bytes();
    return bytes;
  }

 private:
  /// What a running actor knows.
  struct Live {
    ClockPtr clock;
    std::uint32_t epoch = 1;   ///< Of actors without a BlockOrder.
    bool has_touched = false;  ///< Since its lanes met.
    UnmetLanes lanes;
    Fences fences;
    /// What the last strong store told, which the next one mostly does as well.
    std::shared_ptr<const SyncHistory::Word> told;
    /// knowledge(), and what it was made of.
    struct {
      ClockPtr all;
      ClockPtr clock;
      BlockOrder::Epochs epochs{};
    } known;
  };
  struct Group {
    ActorInfo info;
    ActorId first = kNoActor;
    std::uint32_t count = 0;
    std::unique_ptr<Live[]> live;
    BlockOrder* order = nullptr;
    ClockPtr start;  ///< What came before its kernel: everybody can see that already.
    Stamp part_of;   ///< Of whom, if somebody has adopted it.
  };
  struct Me;
  struct Cell {
    Stamp write;
    std::array<Stamp, 2> reads;
  };
  static constexpr std::uint64_t kPageCells = 1024;
  using Page = WordStates<Cell, kPageCells>;  ///< 4 KiB of memory.
  /// What is over when an operation is, if one is named.
  struct Cover {
    ChainId by = 0;
    std::uint64_t operation = 0;
    bool operator==(const Cover&) const = default;
  };
  /// Of a group, what clocks ask about many of them for.
  struct Piece {
    ChainId chain = 0;
    std::uint64_t operation = 0;
    ActorId first = kNoActor;
    std::uint32_t count = 0;
  };

  Page& page(Address address);
  /// What the writer knows now, and its own epoch.
  [[nodiscard]] ClockPtr clock_of(const Stamp& stamp) const;
  [[nodiscard]] Me me_of(ActorId actor);
  [[nodiscard]] bool happened_before(const Stamp& stamp, Me& me) const;
  [[nodiscard]] bool came_before_kernel(const Stamp& stamp, const Group& group) const;
  [[nodiscard]] bool scope_includes(Scope scope, const ActorInfo& a, const ActorInfo& b) const;
  /// Both are strong, and their scopes include each other.
  [[nodiscard]] bool are_strong(const Stamp& a, const Stamp& b) const;
  /// What another lane of the same warp did there, one of them writes, and they have not met since.
  [[nodiscard]] static bool is_of_other_lane(const Stamp& earlier,
                                             const Stamp& later,
                                             bool later_writes,
                                             Address word);
  /// What orders the two was done by other lanes of their warps, which these have not met.
  [[nodiscard]] Race::Unmet unmet_lanes(
      const Stamp& old, bool is_write, const Stamp& now, Address word, const Me& me) const;
  void tell(Address word,
            const Stamp& earlier,
            bool writes,
            const Stamp& now,
            AccessKind kind,
            Race::Unmet unmet);
  /// True: there was a race, which is reported.
  bool check_cell(Cell& cell, Address address, const Stamp& now, AccessKind kind, Me& me);
  static void end_epoch(const Me& me);
  void access_page(Page& page, Address from, Address to, Stamp now, AccessKind kind, Me& me);
  void synchronise(Me& me, const Access& access);
  /// What was done to the location out of sight, and the value of the last write.
  void catch_up(SyncHistory& history, const Access& access);
  /// True: the reader polls, and goes on doing so.
  bool read_flag(Me& me, SyncHistory& history, const Access& access);
  void write_flag(Me& me, SyncHistory& history, const Access& access, SyncHistory::Write write);
  [[nodiscard]] SyncHistory::Set known_writes(const SyncHistory& history,
                                              Me& me,
                                              bool of_library) const;
  [[nodiscard]] static std::size_t needed_level(const ActorInfo& a, const ActorInfo& b);
  /// What these writes tell a reader, by the scope that its acquire needs.
  [[nodiscard]] SyncHistory::Word told_by(const SyncHistory& history,
                                          SyncHistory::Set writes,
                                          const ActorInfo& reader,
                                          const Access& access) const;
  /// What the actor may have yet to learn from.
  [[nodiscard]] SyncHistory::Set untold_writes(const SyncHistory& history, Me& me) const;
  /// What either knows, without what chains that it knows speak for.
  [[nodiscard]] ClockPtr join(const ClockPtr& a, const ClockPtr& b) const;
  void join(ByScope& to, const ByScope& from) const;
  /// What both know, by the wider scope.
  [[nodiscard]] ByScope meet(const ByScope& a, const ByScope& b) const;
  [[nodiscard]] ClockPtr meet(const ClockPtr& a, const ClockPtr& b) const;
  void take(ActorId actor, ByScope& from, Scope scope);
  /// The clock knows that it is over.
  [[nodiscard]] bool has_ended(ActorId actor, const Clock& clock) const;
  /// …by the chain of its work.
  [[nodiscard]] bool speaks_for(const Clock& clock, ActorId actor) const {
    const ActorInfo& who = info(actor);
    return who.operation != 0 && clock.operation_of(who.chain) >= who.operation;
  }
  /// speaks_for(), asked about one actor after the other: those of one kernel have one answer.
  class SpeaksFor {
   public:
    explicit SpeaksFor(const RaceDetector& detector) : detector_(detector) {}
    bool operator()(const Clock& clock, ActorId actor) {
      if (&clock == clock_ && actor - piece_.first < piece_.count) return answer_;
      const Piece& piece = detector_.pieces_[detector_.group_of_[actor]];
      if (&clock != clock_ || piece.chain != piece_.chain || piece.operation != piece_.operation)
        answer_ = piece.operation != 0 && clock.operation_of(piece.chain) >= piece.operation;
      clock_ = &clock;
      piece_ = piece;
      return answer_;
    }

   private:
    const RaceDetector& detector_;
    const Clock* clock_ = nullptr;  ///< Of the last question, as the rest.
    Piece piece_;
    bool answer_ = false;
  };
  /// Is all of a chain known, asked in the same way: the nodes of a graph are covered by one
  /// operation.
  class IsCovered {
   public:
    explicit IsCovered(const RaceDetector& detector) : detector_(detector) {}
    bool operator()(const Clock& clock, ChainId chain) {
      const Cover cover = detector_.cover_of(chain);
      if (cover.by == 0) return false;
      if (&clock != clock_ || cover != cover_) answer_ = covers(clock, cover);
      clock_ = &clock;
      cover_ = cover;
      return answer_;
    }

   private:
    const RaceDetector& detector_;
    const Clock* clock_ = nullptr;
    Cover cover_;
    bool answer_ = false;
  };
  [[nodiscard]] Cover cover_of(ChainId chain) const {
    return chain < covers_.size() ? covers_[chain] : Cover();
  }
  [[nodiscard]] static bool covers(const Clock& clock, const Cover& cover) {
    return cover.by != 0 && clock.operation_of(cover.by) >= cover.operation;
  }
  /// A lane raises a flag: what it may speak for besides its own.
  void open_releases(Me& me, std::uint32_t lane);

  Report report_;
  std::function<void(const StandIn&)> stand_in_;
  std::vector<std::uint32_t> group_of_{0};  ///< By actor; [0] is kNoActor.
  std::deque<Group> groups_{1};
  std::vector<Piece> pieces_{1};  ///< By group.
  std::unordered_map<std::uint64_t, Page> pages_;
  static constexpr std::size_t kCached = 64;
  struct Cached {
    std::uint64_t number = ~std::uint64_t{0};
    Page* page = nullptr;
  };
  std::array<Cached, kCached> cached_;
  /// Locations that strong operations meet on.
  SyncPlaces flags_;
  std::vector<Cover> covers_;  ///< By chain: they are numbered from 1 on.
  LaneReleases lane_releases_;
};

}  // namespace cuco::check
