// SPDX-License-Identifier: Apache-2.0
#include "cli/live/live_run.h"

#include <chrono>
#include <utility>

#include "cli/live/search_rows.h"

namespace cuco::cli {

LiveRun::LiveRun(Terminal& terminal,
                 SearchView about,
                 const InFlight& table,
                 const Clock& clock,
                 IsStopping is_stopping)
    : table_(table),
      clock_(clock),
      is_stopping_(std::move(is_stopping)),
      begin_(clock.now()),
      view_(std::move(about)),
      painter_(std::make_unique<Painter>(
          terminal, [this](system::TerminalSize size) { return search_rows(view(), size); })) {}

LiveRun::~LiveRun() = default;

void LiveRun::recall(std::span<const candidate::Event> events) {
  const std::lock_guard lock(mutex_);
  for (const candidate::Event& event : events)
    view_.apply(event);
  view_.questions.clear();
  judged_before_ = view_.judged();
}

void LiveRun::apply(const candidate::Event& event) {
  const std::lock_guard lock(mutex_);
  view_.apply(event);
}

void LiveRun::begin_step(std::string step) {
  const std::lock_guard lock(mutex_);
  view_.step = std::move(step);
  step_begin_ = clock_.now();
}

SearchView LiveRun::view() const {
  const std::lock_guard lock(mutex_);
  SearchView view = view_;
  view.running = table_.jobs();
  view.elapsed = std::chrono::duration<double>(clock_.now() - begin_).count();
  view.step_elapsed = std::chrono::duration<double>(clock_.now() - step_begin_).count();
  view.now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.wall()).count();
  view.judged_here = view.judged() - judged_before_;
  view.stopping = is_stopping_ && is_stopping_();
  return view;
}

}  // namespace cuco::cli
