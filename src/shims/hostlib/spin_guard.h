// SPDX-License-Identifier: Apache-2.0
/// \file
/// A spin lock for what describes this process's locks: its mutexes are what is being wrapped.
#pragma once

#include <atomic>

namespace cuco::hostlib {

class SpinGuard {
 public:
  explicit SpinGuard(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~SpinGuard() { flag_.clear(std::memory_order_release); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  std::atomic_flag& flag_;
};

}  // namespace cuco::hostlib
