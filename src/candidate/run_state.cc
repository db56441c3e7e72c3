// SPDX-License-Identifier: Apache-2.0
#include "candidate/run_state.h"

#include <utility>

namespace cuco::candidate {

const Outcome* Entry::latest() const {
  return outcomes.empty() ? nullptr : &outcomes.rbegin()->second;
}

const Scored* Entry::scored() const {
  return outcomes.empty() ? nullptr : std::get_if<Scored>(&outcomes.rbegin()->second);
}

namespace {

struct Apply {
  RunState& state;

  Entry* entry(Number number) {
    const auto index = static_cast<std::size_t>(number);
    return number >= 0 && index < state.entries.size() ? &state.entries[index] : nullptr;
  }

  void operator()(const RunStarted& event) {
    state.started = event;
    state.started_ms = state.last_ms;
  }
  void operator()(const StepDone& event) { state.steps.push_back(event); }
  void operator()(const Proposed& event) {
    if (event.candidate.number != static_cast<Number>(state.entries.size())) return;
    Entry added{.candidate = event.candidate};
    if (auto paid = state.unused_exchanges.extract(event.candidate.number); !paid.empty()) {
      added.exchanges = std::move(paid.mapped());
    }
    if (event.rejected) added.outcomes.emplace(Fidelity::Quick, *event.rejected);
    state.entries.push_back(std::move(added));
    state.finished.reset();
  }
  void operator()(const Exchanged& event) {
    auto* known = entry(event.candidate);
    auto& list = known != nullptr ? known->exchanges : state.unused_exchanges[event.candidate];
    list.push_back(event.exchange);
  }
  void operator()(const Evaluated& event) {
    auto* known = entry(event.candidate);
    if (known == nullptr) return;
    known->outcomes.insert_or_assign(event.fidelity, event.outcome);
    known->wall_seconds += event.wall_seconds;
  }
  void operator()(const BestChanged& event) {
    if (entry(event.candidate) != nullptr) state.best = event.candidate;
  }
  void operator()(const RunFinished& event) { state.finished = event; }
};

}  // namespace

void RunState::apply(const Event& event) {
  last_ms = event.time_ms;
  std::visit(Apply{*this}, event.body);
}

RunState fold(std::span<const Event> events) {
  RunState state;
  for (const auto& event : events)
    state.apply(event);
  return state;
}

}  // namespace cuco::candidate
