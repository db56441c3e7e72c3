// SPDX-License-Identifier: Apache-2.0
/// \file
/// Time as a parameter: code that reads the time or sleeps is given a Clock.
#pragma once

#include <chrono>

namespace cuco {

using Nanoseconds = std::chrono::nanoseconds;

/// Abstract so that tests and replays need neither real time nor sleep.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  /// Time since an arbitrary origin; never goes back.
  [[nodiscard]] virtual Nanoseconds now() const = 0;
  /// Time since 1970-01-01 UTC, for records that people read.
  [[nodiscard]] virtual Nanoseconds wall() const = 0;
  virtual void sleep(Nanoseconds duration) = 0;
};

/// For tests: stands still until it is moved; sleeping moves it.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Nanoseconds wall_start = Nanoseconds{0}) : wall_start_(wall_start) {}

  [[nodiscard]] Nanoseconds now() const override { return now_; }
  [[nodiscard]] Nanoseconds wall() const override { return wall_start_ + now_; }
  void sleep(Nanoseconds duration) override { now_ += duration; }

 private:
  Nanoseconds wall_start_;
  Nanoseconds now_{0};
};

}  // namespace cuco
