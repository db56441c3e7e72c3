// SPDX-License-Identifier: Apache-2.0
/// \file
/// What strong operations wrote to one location, one after the other, and what a read of it proves.
///
/// A read proves what its thread *demands* of the value, not what it happened to find. Whoever
/// waits for a flag to reach 1 and finds 2 might as well have found 1: only what came with 1 is
/// known then. Of additions by several writers, only those are known without which the value that
/// was demanded could not have been reached: the others might have come first.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "check/race/happens_before.h"

namespace cuco::check {

/// What the thread that reads makes of a value: see vgpu::WhatIf.
struct Demand {
  bool is_poll = false;    ///< It reads again, and keeps nothing of this value.
  std::uint32_t same = 0;  ///< Bit i: others[i] would have done as well.
};
using AskDemand = std::function<Demand(std::uint64_t value, std::span<const std::uint64_t> others)>;

class SyncHistory {
 public:
  static constexpr std::size_t kMost = 64;  ///< Writes that are remembered apart.
  /// A set of them: bit i is writes()[i].
  using Set = std::uint64_t;

  enum class Kind : std::uint8_t {
    Store,  ///< Ends what was before.
    Add,    ///< Additions may come in any order…
    Other,  ///< …other read-modify-writes are taken as they came.
  };
  struct Write;
  /// What a write tells those who read it.
  struct Word {
    ByScope clocks;      ///< Known after an acquire.
    ByScope sequential;  ///< Known after a fence.sc: a fence.sc happened before the write.
    ClockPtr start;      ///< Of a library's barrier: what came before its kernel.

    bool operator==(const Word&) const = default;
    void join(const Write& write);
    [[nodiscard]] std::size_t size() const {
      std::size_t size = start ? start->size() : 0;
      for (const ByScope* scopes : {&clocks, &sequential}) {
        for (const ClockPtr& clock : *scopes)
          size += clock ? clock->size() : 0;
      }
      return size;
    }
  };
  /// There may be as many of them as a program has words: what the writes of a warp have in common,
  /// they share, and in what they differ, their own epochs, is apart.
  struct Write {
    Kind kind = Kind::Store;
    bool is_delivery = false;  ///< It tells more than its actor knew.
    std::uint8_t reach = 0;    ///< A release tells its actor's epochs by this scope…
    std::uint32_t own = 0;     ///< …up to this one.
    ActorId actor = kNoActor;
    std::uint32_t epoch = 0;
    std::shared_ptr<const Word> word;    ///< What it tells else; null: nothing.
    std::optional<std::uint64_t> value;  ///< After it; known when the location is next looked at.
    Set before = 0;                      ///< Those that come before it whatever happens.

    /// It tells this, and nothing else.
    void tell(Word all) {
      own = 0;
      word = all == Word() ? nullptr : std::make_shared<const Word>(std::move(all));
    }
  };
  /// Somebody read the location, and went on.
  struct Look {
    ActorId actor = kNoActor;
    std::uint32_t epoch = 0;
    Set proven = 0;                      ///< What had come before, then…
    Set counted = 0;                     ///< …and of that, what it knew by this look alone.
    std::size_t count = 0;               ///< Writes there were.
    std::optional<std::uint64_t> least;  ///< What it waited for, where more would do as well.
  };

  explicit SyncHistory(std::optional<std::uint64_t> value, std::uint32_t bytes)
      : bytes_(bytes), writes_(1) {
    writes_[0].value = value;
  }

  [[nodiscard]] const std::vector<Write>& writes() const { return writes_; }
  [[nodiscard]] const std::vector<Look>& looks() const { return looks_; }
  [[nodiscard]] const Write& last() const { return writes_.back(); }
  [[nodiscard]] Set all() const { return below(writes_.size()); }

  /// The location holds this value: the last write left it, unless `other` did.
  void found(std::optional<std::uint64_t> value, std::uint32_t bytes, const Write* other);
  /// `known`: what the writer knows to have come before it.
  void add(Write write, Set known);
  /// Somebody unknown left this value: what was published so far counts for whoever finds it.
  void start_over(std::uint64_t value);
  /// The last write's value, by who knows it at once.
  void set_value(std::uint64_t value) { writes_.back().value = value; }

  struct Reading {
    bool is_poll = false;
    Set proven = 0;  ///< In all ways, these came before.
    /// For each store that may have been read: it, and the writes after it that must have come.
    std::vector<Set> ways;
    std::optional<std::uint64_t> least;
  };
  /// `known`: what the reader knows to have come. Without `value` or `ask` all is proven that is
  /// there.
  [[nodiscard]] Reading read(Set known,
                             std::optional<std::uint64_t> value,
                             const AskDemand* ask) const;
  void remember(Look look);
  /// What is known of the writes that are not remembered apart grows; `prune` makes it smaller.
  template <typename Prune>
  void prune(Prune&& prune) {
    Write& first = writes_.front();
    if (!first.word || first.word->size() < 2 * std::size_t{pruned_size_} + kSmall) return;
    Word word;
    word.join(first);
    for (ByScope* clocks : {&word.clocks, &word.sequential}) {
      for (ClockPtr& clock : *clocks)
        clock = prune(clock);
    }
    word.start = prune(word.start);
    pruned_size_ = static_cast<std::uint32_t>(word.size());
    first.tell(std::move(word));
  }

  /// Writes that come before these whatever happens, and these.
  [[nodiscard]] Set closure(Set set) const;
  /// Of the writes that a look counted on, those in whose place the last write, which knows nothing
  /// of the look, could have been.
  [[nodiscard]] Set replaced_by_last(const Look& look) const;

 private:
  class Verdicts;
  [[nodiscard]] static Set below(std::size_t count) {
    return count >= 64 ? ~Set{0} : (Set{1} << count) - 1;
  }
  [[nodiscard]] static bool has(Set set, std::size_t i) { return (set >> i & 1U) != 0; }
  /// The store whose release sequence the write belongs to.
  [[nodiscard]] std::size_t head_of(std::size_t write) const;
  [[nodiscard]] std::uint64_t masked(std::uint64_t value) const {
    return bytes_ >= 8 ? value : value & ((std::uint64_t{1} << (8 * bytes_)) - 1);
  }
  [[nodiscard]] std::uint64_t amount(std::size_t write) const {
    return masked(*writes_[write].value - *writes_[write - 1].value);
  }
  [[nodiscard]] bool has_values(std::size_t head, std::size_t end) const;
  /// Values that the location may have had with these writes out of the way; false: enough.
  template <typename Use>
  void for_values(std::size_t head, std::size_t end, Set known, Set without, Use&& use) const;
  [[nodiscard]] Set with_followers(std::size_t write, std::size_t end) const;
  void drop_first();

  static constexpr std::size_t kSmall = 64;

  std::uint32_t bytes_;
  std::uint32_t pruned_size_ = 0;  ///< Of the first write's word, when it was last pruned.
  std::vector<Write> writes_;      ///< [0]: what was there before the others.
  std::vector<Look> looks_;
};

}  // namespace cuco::check
