// SPDX-License-Identifier: Apache-2.0
#include "check/race/sync_history.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace cuco::check {
namespace {

constexpr std::size_t kMostLooks = 128;
constexpr std::size_t kAtOnce = 31;  ///< Values that one question may have.

}  // namespace

/// Which values would have done: asked about many at once.
class SyncHistory::Verdicts {
 public:
  Verdicts(std::uint64_t value, const AskDemand& ask) : value_(value), ask_(ask) {
    known_[value] = true;
  }

  void want(std::uint64_t value) {
    if (known_.emplace(value, false).second) wanted_.push_back(value);
  }
  /// True: the thread polls.
  bool settle() {
    bool is_poll = false;
    for (std::size_t from = 0; from == 0 || from < wanted_.size(); from += kAtOnce) {
      const auto some = std::span(wanted_).subspan(std::min(from, wanted_.size()));
      const auto others = some.first(std::min(some.size(), kAtOnce));
      const Demand demand = ask_(value_, others);
      is_poll = demand.is_poll;
      if (is_poll) break;
      for (std::size_t i = 0; i < others.size(); ++i)
        known_[others[i]] = (demand.same >> i & 1U) != 0;
    }
    wanted_.clear();
    return is_poll;
  }
  [[nodiscard]] bool accepts(std::uint64_t value) const { return known_.at(value); }
  /// The least value that would have done, if all greater ones would, too.
  [[nodiscard]] std::optional<std::uint64_t> least() const {
    std::uint64_t least = value_;
    for (const auto& [value, does] : known_) {
      if (does) least = std::min(least, value);
    }
    const bool is_threshold = std::ranges::all_of(
        known_, [&](const auto& entry) { return entry.second || entry.first < least; });
    return is_threshold ? std::optional(least) : std::nullopt;
  }

 private:
  std::uint64_t value_;
  const AskDemand& ask_;
  std::unordered_map<std::uint64_t, bool> known_;
  std::vector<std::uint64_t> wanted_;
};

void SyncHistory::Word::join(const Write& write) {
  if (write.word) {
    check::join(clocks, write.word->clocks);
    check::join(sequential, write.word->sequential);
    start = Clock::join(start, write.word->start);
  }
  if (write.own != 0)
    clocks[write.reach] = Clock::with_actor(clocks[write.reach], write.actor, write.own);
}

std::size_t SyncHistory::head_of(std::size_t write) const {
  while (write > 0 && writes_[write].kind != Kind::Store)
    --write;
  return write;
}

bool SyncHistory::has_values(std::size_t head, std::size_t end) const {
  return std::all_of(writes_.begin() + static_cast<std::ptrdiff_t>(head),
                     writes_.begin() + static_cast<std::ptrdiff_t>(end),
                     [](const Write& write) { return write.value.has_value(); });
}

SyncHistory::Set SyncHistory::closure(Set set) const {
  Set all = set;
  for (std::size_t i = writes_.size(); i-- > 0;) {
    if (has(all, i)) all |= writes_[i].before;
  }
  return all;
}

SyncHistory::Set SyncHistory::with_followers(std::size_t write, std::size_t end) const {
  Set set = Set{1} << write;
  for (std::size_t i = write + 1; i < end; ++i) {
    if (has(writes_[i].before, write)) set |= Set{1} << i;
  }
  return set;
}

void SyncHistory::found(std::optional<std::uint64_t> value,
                        std::uint32_t bytes,
                        const Write* other) {
  if (bytes != bytes_) {
    // Parts of it, or more than it: their values do not compare.
    for (Write& write : writes_)
      write.value.reset();
    bytes_ = bytes;
  }
  if (other != nullptr) add(*other, all());
  if (!writes_.back().value || other != nullptr) writes_.back().value = value;
}

void SyncHistory::drop_first() {
  Write& first = writes_[0];
  Write& second = writes_[1];
  if (second.kind == Kind::Store) {
    first = std::move(second);
  } else {
    Word both;
    both.join(first);
    both.join(second);
    first.tell(std::move(both));
    first.actor = second.actor;
    first.epoch = second.epoch;
    first.value = second.value;
  }
  first.kind = Kind::Store;
  first.before = 0;
  writes_.erase(writes_.begin() + 1);
  const auto shift = [](Set& set) { set = set >> 1U | (set & 1U); };
  for (Write& write : writes_)
    shift(write.before);
  for (Look& look : looks_) {
    shift(look.proven);
    shift(look.counted);
    if (look.count > 1) --look.count;
  }
}

void SyncHistory::start_over(std::uint64_t value) {
  Word told;
  for (const Write& write : writes_)
    told.join(write);
  Write all;
  all.tell(std::move(told));
  all.actor = writes_.back().actor;
  all.epoch = writes_.back().epoch;
  all.value = value;
  writes_.assign(1, std::move(all));
  looks_.clear();
}

void SyncHistory::add(Write write, Set known) {
  // Lanes of a warp, one after the other.
  Write& last = writes_.back();
  if (last.actor == write.actor && !last.value && last.kind == write.kind) {
    const bool replaces = write.kind == Kind::Store;
    const bool is_alike = last.word == write.word && (replaces || write.own == 0 || last.own == 0 ||
                                                      last.reach == write.reach);
    if (!is_alike) {
      Word both;
      if (!replaces) {
        both.join(last);
      } else if (last.word) {
        both.start = last.word->start;
      }
      both.join(write);
      last.tell(std::move(both));
    } else if (replaces || write.own != 0) {
      last.own = write.own;
      last.reach = write.reach;
    }
    last.epoch = write.epoch;
    return;
  }
  Set before = closure(known) & all();
  if (write.kind == Kind::Add) {
    const std::size_t head = head_of(writes_.size() - 1);
    before |= below(head + 1);
    for (std::size_t i = head + 1; i < writes_.size(); ++i) {
      if (writes_[i].kind == Kind::Other) before |= below(i + 1);
    }
  } else {
    before = all();
  }
  write.before = before;
  writes_.push_back(std::move(write));
  while (writes_.size() > kMost)
    drop_first();
}

template <typename Use>
void SyncHistory::for_values(
    std::size_t head, std::size_t end, Set known, Set without, Use&& use) const {
  std::uint64_t value = *writes_[head].value;
  for (std::size_t i = head + 1; i < end; ++i) {
    if (has(known, i)) value = masked(value + amount(i));
  }
  if (use(value)) return;
  for (std::size_t i = head + 1; i < end; ++i) {
    if (has(known, i) || has(without, i)) continue;
    value = masked(value + amount(i));
    if (use(value)) return;
  }
}

SyncHistory::Reading SyncHistory::read(Set known,
                                       std::optional<std::uint64_t> value,
                                       const AskDemand* ask) const {
  const std::size_t size = writes_.size();
  const std::size_t newest = head_of(size - 1);
  Reading reading;
  reading.proven = all();
  const Set latest = all() & ~below(newest);
  if (!value || ask == nullptr || (latest & ~known) == 0 || !has_values(newest, size)) {
    reading.ways.push_back(latest);
    return reading;
  }
  // Stores that may have been read: no later write is known to the reader.
  std::vector<std::pair<std::size_t, std::size_t>> sequences;
  for (std::size_t end = size; end > 0;) {
    const std::size_t head = head_of(end - 1);
    if (has_values(head, end)) sequences.emplace_back(head, end);
    if ((known & ~below(head)) != 0) break;
    end = head;
  }
  Verdicts verdicts(*value, *ask);
  for (const auto& [head, end] : sequences) {
    const auto want = [&](std::uint64_t one) {
      verdicts.want(one);
      return false;
    };
    for_values(head, end, known, 0, want);
    for (std::size_t i = head + 1; i < end; ++i) {
      if (!has(known, i)) for_values(head, end, known, with_followers(i, end), want);
    }
  }
  reading.is_poll = verdicts.settle();
  if (reading.is_poll) return reading;
  reading.least = verdicts.least();
  for (const auto& [head, end] : sequences) {
    const auto may_be_read = [&, first = head, last = end](Set without) {
      bool does = false;
      for_values(first, last, known, without,
                 [&](std::uint64_t one) { return does = verdicts.accepts(one); });
      return does;
    };
    if (head != newest && !may_be_read(0)) continue;
    Set way = Set{1} << head;
    for (std::size_t i = head + 1; i < end; ++i) {
      if (has(known, i) || !may_be_read(with_followers(i, end))) way |= Set{1} << i;
    }
    reading.ways.push_back(way);
    reading.proven &= way | below(head);
  }
  reading.proven |= known;
  return reading;
}

void SyncHistory::remember(Look look) {
  std::erase_if(looks_, [&](const Look& old) { return old.actor == look.actor; });
  if (looks_.size() == kMostLooks) looks_.erase(looks_.begin());
  looks_.push_back(look);
}

SyncHistory::Set SyncHistory::replaced_by_last(const Look& look) const {
  const std::size_t size = writes_.size();
  const std::size_t head = head_of(size - 1);
  if (!look.least || look.count <= head || look.count >= size || !has_values(head, size)) return 0;
  Set replaced = 0;
  for (std::size_t i = head + 1; i < look.count; ++i) {
    if (!has(look.counted, i) || has(writes_[size - 1].before, i)) continue;
    const Set without = with_followers(i, size);
    std::uint64_t value = *writes_[head].value;
    for (std::size_t other = head + 1; other < size; ++other) {
      const bool counts = other < look.count || other + 1 == size;
      if (counts && !has(without, other)) value = masked(value + amount(other));
    }
    if (value >= *look.least) replaced |= Set{1} << i;
  }
  return replaced;
}

}  // namespace cuco::check
