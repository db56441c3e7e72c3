// SPDX-License-Identifier: Apache-2.0
#include "candidate/run_state.h"

#include <algorithm>
#include <utility>

namespace cuco::candidate {

const Outcome* Entry::latest() const {
  return outcomes.empty() ? nullptr : &outcomes.rbegin()->second;
}

const Scored* Entry::scored() const {
  return outcomes.empty() ? nullptr : std::get_if<Scored>(&outcomes.rbegin()->second);
}

const Scored* Entry::scored(TargetKind target) const {
  auto after = outcomes.upper_bound({target, Fidelity::Final});
  if (after == outcomes.begin()) return nullptr;
  const auto& [rung, outcome] = *--after;
  return rung.target == target ? std::get_if<Scored>(&outcome) : nullptr;
}

namespace {

struct Apply {
  RunState& state;

  Entry* entry(Number number) {
    const auto index = static_cast<std::size_t>(number);
    return number >= 0 && index < state.entries.size() ? &state.entries[index] : nullptr;
  }
  /// Decisions end in order.
  void decided(Decision decision, Decided result) {
    if (decision == static_cast<Decision>(state.decisions.size()))
      state.decisions.push_back(std::move(result));
  }

  void operator()(const RunStarted& event) {
    state.started = event;
    state.started_ms = state.last_ms;
  }
  void operator()(const StepDone& event) { state.steps.push_back(event); }
  void operator()(const Proposed& event) {
    const Number number = event.candidate.number;
    if (number != static_cast<Number>(state.entries.size())) return;
    // In runs of older versions candidates and decisions have the same numbers.
    const Decision decision = event.decision < 0 ? number : event.decision;
    Entry added{.candidate = event.candidate, .decision = decision};
    if (auto paid = state.unused_exchanges.extract(decision); !paid.empty()) {
      added.exchanges = std::move(paid.mapped());
    }
    if (event.rejected) added.outcomes.emplace(Rung{}, *event.rejected);
    decided(decision, {.candidate = number, .proposer = added.candidate.lineage.proposer});
    state.entries.push_back(std::move(added));
    state.finished.reset();
  }
  void operator()(const Declined& event) {
    decided(event.decision, {.reason = event.reason, .proposer = event.proposer});
  }
  void operator()(const Reserved& event) {
    ++state.calls;
    state.tokens += event.tokens;
    state.dollars += event.dollars;
    state.reservations[event.question] = event;
  }
  void operator()(const Exchanged& event) {
    // What was reserved gives way to what it took.
    if (auto reserved = state.reservations.extract(event.exchange.question); !reserved.empty()) {
      state.tokens -= reserved.mapped().tokens;
      state.dollars -= reserved.mapped().dollars;
    } else {
      ++state.calls;
    }
    state.tokens +=
        event.exchange.prompt_tokens + event.exchange.answer_tokens + event.exchange.lost_tokens;
    state.dollars += std::max(event.exchange.dollars, 0.0);
    const bool known =
        event.decision >= 0 && event.decision < static_cast<Decision>(state.decisions.size());
    const auto candidate =
        known ? state.decisions[static_cast<std::size_t>(event.decision)].candidate : std::nullopt;
    auto& list = candidate ? state.entries[static_cast<std::size_t>(*candidate)].exchanges
                           : state.unused_exchanges[event.decision];
    list.push_back(event.exchange);
  }
  void operator()(const Evaluated& event) {
    auto* known = entry(event.candidate);
    if (known == nullptr) return;
    known->outcomes.insert_or_assign(event.rung, event.outcome);
    known->wall_seconds += event.wall_seconds;
    if (event.same_as) known->same_as.insert_or_assign(event.rung, *event.same_as);
  }
  void operator()(const SetAside& event) {
    if (!event.candidate) {
      decided(event.decision,
              {.reason = event.reason, .set_aside = true, .proposer = event.proposer});
    } else if (auto* known = entry(*event.candidate)) {
      known->set_aside.insert_or_assign(event.rung, event);
    }
  }
  void operator()(const Compared& event) { state.comparisons.push_back(event); }
  void operator()(const Planned& event) {
    if (event.plan.number == static_cast<PlanNumber>(state.plans.size()))
      state.plans.push_back(event.plan);
  }
  void operator()(const Noted& event) { state.notes.push_back(event.notes); }
  void operator()(const BestChanged& event) {
    if (entry(event.candidate) == nullptr) return;
    state.best = event.candidate;
    state.bests.push_back(event);
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
