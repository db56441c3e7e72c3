// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who sleeps on which condition variable or futex of this process. A signal is for those who sleep
/// when it is given: they have a ticket, and whoever comes later, even at an earlier virtual time,
/// has a higher one and cannot take it from them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>

#include "shims/hostlib/spin_guard.h"

namespace cuco::hostlib {

class Sleepers {
 public:
  struct Woken {
    std::uint32_t count = 0;
    std::uint64_t last_ticket = 0;
  };

  /// The ticket of one more sleeper.
  [[nodiscard]] std::uint64_t enter(const void* condition) {
    return *enter_if(condition, [] { return true; });
  }
  /// The same if that still holds while nobody can wake; otherwise nothing.
  template <typename Holds>
  [[nodiscard]] std::optional<std::uint64_t> enter_if(const void* condition, Holds holds);
  /// `woken`: by a signal, not because its time was over.
  void leave(const void* condition, bool woken);
  /// Wakes up to `most` of those who sleep and were not woken yet.
  [[nodiscard]] Woken wake(const void* condition, std::uint32_t most);

 private:
  struct Condition {
    std::uint32_t inside = 0;
    std::uint32_t asleep = 0;  ///< Those inside for whom no signal was given yet.
  };

  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::map<const void*, Condition> conditions_;
  /// One count for all: an address may be used again.
  std::uint64_t last_ticket_ = 0;
};

template <typename Holds>
std::optional<std::uint64_t> Sleepers::enter_if(const void* condition, Holds holds) {
  const SpinGuard guard(busy_);
  if (!holds()) return std::nullopt;
  Condition& entry = conditions_[condition];
  ++entry.inside;
  ++entry.asleep;
  return ++last_ticket_;
}

inline void Sleepers::leave(const void* condition, bool woken) {
  const SpinGuard guard(busy_);
  const auto found = conditions_.find(condition);
  if (found == conditions_.end()) return;
  if (!woken && found->second.asleep > 0) --found->second.asleep;
  if (--found->second.inside == 0) conditions_.erase(found);
}

inline Sleepers::Woken Sleepers::wake(const void* condition, std::uint32_t most) {
  const SpinGuard guard(busy_);
  const auto found = conditions_.find(condition);
  if (found == conditions_.end()) return {};
  const std::uint32_t count = std::min(most, found->second.asleep);
  found->second.asleep -= count;
  return {count, last_ticket_};
}

}  // namespace cuco::hostlib
