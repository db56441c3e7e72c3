// SPDX-License-Identifier: Apache-2.0
/// \file
/// How many threads wait on the server for a lock or condition of this process, by address, so that
/// the thread that lets go knows whether the server has to be told.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>

#include "shims/hostlib/spin_guard.h"

namespace cuco::hostlib {

class Waiters {
 public:
  void add(const void* object);
  void remove(const void* object);
  [[nodiscard]] std::uint32_t count(const void* object);

 private:
  std::atomic<std::uint32_t> total_{0};  ///< Lets the common case skip the lock.
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::map<const void*, std::uint32_t> counts_;
};

inline void Waiters::add(const void* object) {
  const SpinGuard guard(busy_);
  ++counts_[object];
  total_.fetch_add(1);
}

inline void Waiters::remove(const void* object) {
  const SpinGuard guard(busy_);
  const auto found = counts_.find(object);
  if (found != counts_.end() && --found->second == 0) counts_.erase(found);
  total_.fetch_sub(1);
}

inline std::uint32_t Waiters::count(const void* object) {
  if (total_.load() == 0) return 0;
  const SpinGuard guard(busy_);
  const auto found = counts_.find(object);
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace cuco::hostlib
