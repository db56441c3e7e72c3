// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one happens-before relation: what an actor knows to have finished.
///
/// Actors are warps (of a block that runs or ran), and one-shot operations: copies, collectives,
/// puts. Every actor counts its own *epochs*: it starts a new one whenever it lets others know what
/// it has done so far (barrier, release, fence). An access is stamped with actor and epoch; it
/// happens before a later one if the later one's actor knows that epoch to be complete.
///
/// Knowledge is kept in two sparse parts. *Chains* are streams and queues: "operation 7 of stream 3
/// and all before it". *Actors* are those still running or not yet covered by a chain. A Clock is
/// immutable and shared: publishing it costs a pointer.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cuco::check {

using ActorId = std::uint32_t;
using ChainId = std::uint32_t;
inline constexpr ActorId kNoActor = 0;

class Clock;
/// Null knows nothing.
using ClockPtr = std::shared_ptr<const Clock>;

class Clock {
 public:
  /// Knows nothing.
  static ClockPtr zero();

  /// The last epoch of the actor known to be complete; 0: none.
  [[nodiscard]] std::uint32_t epoch_of(ActorId actor) const;
  /// The last operation of the chain known to be complete; 0: none.
  [[nodiscard]] std::uint64_t operation_of(ChainId chain) const;

  /// Both clocks' knowledge. Returns one of the arguments when it already has it all.
  static ClockPtr join(const ClockPtr& a, const ClockPtr& b);
  /// The same without what chains of the same clock say anyway: see meet for `speaks` and `covers`,
  /// which look at chains only. Actors of work that has ended would come back for ever from flags
  /// that were raised then.
  template <typename Speaks, typename Covers>
  [[nodiscard]] static ClockPtr join(const ClockPtr& a,
                                     const ClockPtr& b,
                                     Speaks&& speaks,
                                     Covers&& covers) {
    if (a == b || !b) return a;
    if (!a) return b;
    const auto has = [&](const Clock& all, const Clock& part) {
      return holds(all.chains_, part.chains_, [&](ChainId chain) { return covers(all, chain); }) &&
             holds(all.actors_, part.actors_, [&](ActorId actor) { return speaks(all, actor); });
    };
    if (has(*a, *b)) return a;
    if (has(*b, *a)) return b;
    auto both = std::make_shared<Clock>();
    both->chains_ = merge(a->chains_, b->chains_, [](ChainId) { return true; });
    both->actors_ =
        merge(a->actors_, b->actors_, [&](ActorId actor) { return !speaks(*both, actor); });
    std::vector<ChainId> covered;  // by all of them: they go together
    for (const auto& [chain, operation] : both->chains_) {
      if (covers(*both, chain)) covered.push_back(chain);
    }
    if (!covered.empty()) {
      std::erase_if(both->chains_, [&](const auto& entry) {
        return std::binary_search(covered.begin(), covered.end(), entry.first);
      });
    }
    return both;
  }
  /// What both know. `speaks(clock, actor)`, `covers(clock, chain)`: the clock knows all of it by
  /// another of its chains.
  template <typename Speaks, typename Covers>
  [[nodiscard]] static ClockPtr meet(const ClockPtr& a,
                                     const ClockPtr& b,
                                     Speaks&& speaks,
                                     Covers&& covers) {
    if (a == b || !a) return a;
    if (!b) return b;
    auto fresh = std::make_shared<Clock>();
    const auto share = [&](const Clock& from, const Clock& other) {
      for (const auto& [actor, epoch] : from.actors_) {
        const std::uint32_t known = speaks(other, actor) ? epoch : other.epoch_of(actor);
        if (known != 0) raise(fresh->actors_, actor, known < epoch ? known : epoch);
      }
      for (const auto& [chain, operation] : from.chains_) {
        const std::uint64_t known = covers(other, chain) ? operation : other.operation_of(chain);
        if (known != 0) raise(fresh->chains_, chain, known < operation ? known : operation);
      }
    };
    share(*a, *b);
    share(*b, *a);
    return fresh;
  }
  [[nodiscard]] static ClockPtr with_actor(const ClockPtr& clock,
                                           ActorId actor,
                                           std::uint32_t epoch);
  /// Actors first, first + 1, … at least at these epochs; 0 adds nothing.
  [[nodiscard]] static ClockPtr with_actors(const ClockPtr& clock,
                                            ActorId first,
                                            std::span<const std::uint32_t> epochs);
  [[nodiscard]] static ClockPtr with_chain(const ClockPtr& clock,
                                           ChainId chain,
                                           std::uint64_t operation);
  /// Forgets actors and chains for which `covered` holds: a chain speaks for them.
  template <typename ActorPredicate, typename ChainPredicate>
  [[nodiscard]] static ClockPtr without(const ClockPtr& clock,
                                        ActorPredicate&& actor_covered,
                                        ChainPredicate&& chain_covered) {
    auto fresh = std::make_shared<Clock>(*clock);
    std::erase_if(fresh->actors_, [&](const auto& entry) { return actor_covered(entry.first); });
    std::erase_if(fresh->chains_, [&](const auto& entry) { return chain_covered(entry.first); });
    return fresh;
  }

  [[nodiscard]] std::size_t size() const { return actors_.size() + chains_.size(); }

 private:
  /// At least `value`, in a list sorted by id.
  template <typename Id, typename Value>
  static void raise(std::vector<std::pair<Id, Value>>& list, Id id, Value value) {
    auto at = std::lower_bound(list.begin(), list.end(), id,
                               [](const auto& entry, Id wanted) { return entry.first < wanted; });
    if (at != list.end() && at->first == id) {
      at->second = std::max(at->second, value);
    } else {
      list.insert(at, {id, value});
    }
  }

  /// Of both lists, the entries with an id to `keep`.
  template <typename Id, typename Value, typename Keep>
  static std::vector<std::pair<Id, Value>> merge(const std::vector<std::pair<Id, Value>>& a,
                                                 const std::vector<std::pair<Id, Value>>& b,
                                                 Keep&& keep) {
    std::vector<std::pair<Id, Value>> out;
    out.reserve(a.size() + b.size());
    const auto take = [&](Id id, Value value) {
      if (keep(id)) out.emplace_back(id, value);
    };
    auto x = a.begin();
    auto y = b.begin();
    while (x != a.end() && y != b.end()) {
      if (x->first < y->first) {
        take(x->first, x->second);
        ++x;
      } else if (y->first < x->first) {
        take(y->first, y->second);
        ++y;
      } else {
        take(x->first, std::max(x->second, y->second));
        ++x;
        ++y;
      }
    }
    for (; x != a.end(); ++x)
      take(x->first, x->second);
    for (; y != b.end(); ++y)
      take(y->first, y->second);
    return out;
  }
  /// Is all of `part` in the list, or `known` otherwise?
  template <typename Id, typename Value, typename Known>
  static bool holds(const std::vector<std::pair<Id, Value>>& list,
                    const std::vector<std::pair<Id, Value>>& part,
                    Known&& known) {
    auto at = list.begin();
    for (const auto& [id, value] : part) {
      while (at != list.end() && at->first < id)
        ++at;
      const bool is_there = at != list.end() && at->first == id && at->second >= value;
      if (!is_there && !known(id)) return false;
    }
    return true;
  }

  // Sorted by id. Small in practice: the streams of a run, and the blocks of the grids in flight.
  std::vector<std::pair<ActorId, std::uint32_t>> actors_;
  std::vector<std::pair<ChainId, std::uint64_t>> chains_;
};

/// Knowledge by the scope of the fence or flag that it came with: block, device, system.
using ByScope = std::array<ClockPtr, 3>;

inline void join(ByScope& to, const ByScope& from) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = Clock::join(to[i], from[i]);
}

}  // namespace cuco::check
