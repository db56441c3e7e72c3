// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the real time of a judgement goes, and what the candidate's own processes use of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <string>

namespace cuco::judge {

/// Seconds by stage, added up over everything since it was made. May be used from several threads.
class Stages {
 public:
  void add(const std::string& stage, double seconds) {
    const std::lock_guard lock(mutex_);
    seconds_[stage] += seconds;
  }
  [[nodiscard]] std::map<std::string, double> seconds() const {
    const std::lock_guard lock(mutex_);
    return seconds_;
  }
  /// Processor time of a rank in one cuco_run.
  void note_host(double seconds) {
    const std::lock_guard lock(mutex_);
    host_ = std::max(host_, seconds);
  }
  /// The most of all ranks and calls.
  [[nodiscard]] double host() const {
    const std::lock_guard lock(mutex_);
    return host_;
  }

  /// Adds the time of its life to a stage; null: to none.
  class Lap {
   public:
    Lap(Stages* stages, std::string stage) : stages_(stages), stage_(std::move(stage)) {}
    Lap(const Lap&) = delete;
    Lap& operator=(const Lap&) = delete;
    ~Lap() {
      if (stages_ == nullptr) return;
      stages_->add(stage_, std::chrono::duration<double>(Clock::now() - begin_).count());
    }

   private:
    using Clock = std::chrono::steady_clock;
    Stages* stages_;
    std::string stage_;
    Clock::time_point begin_ = Clock::now();
  };

 private:
  mutable std::mutex mutex_;
  std::map<std::string, double> seconds_;
  double host_ = 0;
};

}  // namespace cuco::judge
