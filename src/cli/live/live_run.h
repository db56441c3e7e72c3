// SPDX-License-Identifier: Apache-2.0
/// \file
/// LiveRun: the view of a run on the terminal while it goes on.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "cli/live/search_view.h"
#include "cli/terminal/painter.h"

namespace cuco::cli {

/// Events come in, rows go out: the painter asks for them from its own thread. On a terminal that
/// cannot be painted it only listens.
class LiveRun {
 public:
  /// Whether somebody asked to stop; may be empty.
  using IsStopping = std::function<bool()>;

  /// `about` says what was asked for. All must outlive it.
  LiveRun(Terminal& terminal,
          SearchView about,
          const InFlight& table,
          const Clock& clock,
          IsStopping is_stopping);
  ~LiveRun();
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  /// What an earlier process has done of the run. Its open questions are nobody's any more.
  void recall(std::span<const candidate::Event> events);
  void apply(const candidate::Event& event);
  /// What the journey does now; empty: it is with its candidates.
  void begin_step(std::string step);
  [[nodiscard]] SearchView view() const;

 private:
  const InFlight& table_;
  const Clock& clock_;
  IsStopping is_stopping_;
  Nanoseconds begin_;
  Nanoseconds step_begin_{0};
  mutable std::mutex mutex_;
  SearchView view_;
  int judged_before_ = 0;
  std::unique_ptr<Painter> painter_;  ///< Last: its thread ends before what it uses.
};

}  // namespace cuco::cli
