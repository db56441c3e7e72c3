// SPDX-License-Identifier: Apache-2.0
/// \file
/// Records what a candidate does when, on request, in a process of its own: one at a time, since a
/// page can ask faster than a machine can run programs.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "candidate/run_state.h"

namespace cuco::dashboard {

class Recorder {
 public:
  /// `command` gets the run and "--record", NUMBER behind its own words; it keeps what it records.
  Recorder(std::vector<std::string> command, const Clock& clock);
  /// Ends what is being recorded.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Unavailable while another candidate is being recorded; the same one again is no error.
  [[nodiscard]] Result<void> start(std::string_view run, candidate::Number number);

  /// {"run", "candidate", "state": "running", "done" or "failed", "seconds", "problem"}: the latest
  /// recording; null where there was none.
  [[nodiscard]] Json state() const;

 private:
  void work(const std::stop_token& stop, std::vector<std::string> words);

  std::vector<std::string> command_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::string run_;
  candidate::Number number_ = candidate::kSeed;
  bool running_ = false;
  std::string problem_;
  Nanoseconds begin_{0};
  Nanoseconds end_{0};
  std::jthread worker_;  ///< Last: it ends before what it uses.
};

}  // namespace cuco::dashboard
