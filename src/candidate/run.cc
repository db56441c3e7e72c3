// SPDX-License-Identifier: Apache-2.0
#include "candidate/run.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include <fmt/format.h>

#include "base/assert.h"
#include "program/tokens.h"

namespace cuco::candidate {

Result<Run> Run::open(CandidateStore& store,
                      Evaluator& evaluator,
                      const Clock& clock,
                      RunSettings settings) {
  Run run(store, evaluator, clock, std::move(settings));
  CUCO_TRY_ASSIGN(const std::vector<Event> events, store.events());
  run.state_ = fold(events);
  return run;
}

Result<void> Run::append_locked(EventBody body) {
  CUCO_TRY_ASSIGN(const Event event, store_->append(std::move(body)));
  state_.apply(event);
  if (settings_.observer) settings_.observer(event, state_);
  return {};
}

Result<void> Run::append(EventBody body) {
  const std::lock_guard lock(*mutex_);
  return append_locked(std::move(body));
}

Result<void> Run::start(RunStarted started) {
  if (state_.started) return {};
  return append(std::move(started));
}

const Entry& Run::entry(Number number) const {
  CUCO_ASSERT(number >= 0 && static_cast<std::size_t>(number) < state_.entries.size());
  return state_.entries[static_cast<std::size_t>(number)];
}

bool Run::stop_requested() const {
  return settings_.stop_requested && settings_.stop_requested();
}

double Run::speedup(Number number) const {
  const auto* scored = entry(number).scored();
  if (scored == nullptr || scored->seconds <= 0) return 0;
  return number == kSeed ? 1.0 : scored->baseline_seconds / scored->seconds;
}

std::optional<Number> Run::same_code(const Candidate& candidate) const {
  for (const auto& judged : history_) {
    if (judged.candidate.code_hash == candidate.code_hash) return judged.candidate.number;
  }
  return std::nullopt;
}

Result<Number> Run::record(Proposed proposed) {
  const auto number = proposed.candidate.number;
  Judged judged{proposed.candidate, ProposalRejected{"not judged yet", ""}};
  if (proposed.rejected) judged.outcome = *proposed.rejected;
  CUCO_TRY(append(std::move(proposed)));
  history_.push_back(std::move(judged));
  ++next_;
  return number;
}

Result<Number> Run::add_candidate(Proposal proposal) {
  if (replaying()) {
    history_.push_back({entry(next_).candidate, ProposalRejected{"not judged yet", ""}});
    return next_++;
  }
  Candidate candidate{.number = next_,
                      .source = std::move(proposal.source),
                      .directive = proposal.directive,
                      .lineage = std::move(proposal.lineage)};
  candidate.code_hash = program::normalised_hash(candidate.source);
  return record({std::move(candidate), std::nullopt});
}

Result<std::optional<Number>> Run::next_candidate(Proposer& proposer,
                                                  Number parent,
                                                  std::string_view phase) {
  if (replaying()) {
    history_.push_back({entry(next_).candidate, ProposalRejected{"not judged yet", ""}});
    if (const auto* known = entry(next_).latest()) history_.back().outcome = *known;
    return std::optional(next_++);
  }
  std::vector<Exchange> paid;
  if (const auto found = state_.unused_exchanges.find(next_);
      found != state_.unused_exchanges.end()) {
    paid = found->second;
  }
  const SearchView view{.history = history_,
                        .parent = parent,
                        .seed = settings_.seed + static_cast<std::uint64_t>(next_),
                        .paid = paid};
  CUCO_TRY_ASSIGN(std::optional<ProposerAnswer> answer, proposer.propose(view));
  if (!answer) return std::optional<Number>();
  // What was bought is on disk before anything is done with it.
  for (auto& exchange : answer->exchanges) {
    const bool stored = std::find(paid.begin(), paid.end(), exchange) != paid.end();
    if (!stored) CUCO_TRY(append(Exchanged{next_, std::move(exchange)}));
  }
  Candidate candidate{.number = next_};
  std::optional<ProposalRejected> verdict;
  if (auto* rejected = std::get_if<ProposalRejected>(&answer->proposal)) {
    candidate.lineage = {.proposer = proposer.name(), .parent = parent};
    verdict = std::move(*rejected);
  } else {
    auto& proposal = std::get<Proposal>(answer->proposal);
    candidate.source = std::move(proposal.source);
    candidate.directive = proposal.directive;
    candidate.lineage = std::move(proposal.lineage);
    candidate.code_hash = program::normalised_hash(candidate.source);
    if (const auto twin = same_code(candidate)) {
      verdict = ProposalRejected{fmt::format("the same code as #{}", *twin), ""};
    }
  }
  candidate.lineage.phase = phase;
  CUCO_TRY_ASSIGN(const Number number, record({std::move(candidate), std::move(verdict)}));
  return std::optional(number);
}

Result<void> Run::evaluate(std::span<const Number> numbers, Fidelity fidelity) {
  std::vector<Number> open;
  for (const auto number : numbers) {
    const auto& known = entry(number);
    // A verdict at a lower fidelity that is no time is final.
    const bool turned_down = known.latest() != nullptr && known.scored() == nullptr;
    if (!turned_down && !known.outcomes.contains(fidelity)) open.push_back(number);
  }
  std::atomic<std::size_t> next{0};
  std::optional<Error> failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < open.size() && !stop_requested(); i = next++) {
      const auto candidate = [&] {
        const std::lock_guard lock(*mutex_);
        return entry(open[i]).candidate;
      }();
      const auto start = clock_->now();
      auto outcome = evaluator_->evaluate(candidate, fidelity);
      const auto wall = std::chrono::duration<double>(clock_->now() - start).count();
      const std::lock_guard lock(*mutex_);
      if (failure) return;
      if (!outcome) {
        failure = std::move(outcome).error();
        return;
      }
      const auto stored = append_locked(Evaluated{open[i], fidelity, *std::move(outcome), wall});
      if (!stored) failure = stored.error();
    }
  };
  {
    std::vector<std::jthread> workers;
    const auto extra = std::min(static_cast<std::size_t>(std::max(settings_.parallel, 1)),
                                std::max<std::size_t>(open.size(), 1)) -
                       1;
    for (std::size_t i = 0; i < extra; ++i)
      workers.emplace_back(work);
    work();
  }
  for (const auto number : numbers) {
    const auto* known = entry(number).latest();
    if (known != nullptr) history_[static_cast<std::size_t>(number)].outcome = *known;
  }
  if (failure) return *std::move(failure);
  return {};
}

Result<Outcome> Run::evaluate(Number number, Fidelity fidelity) {
  CUCO_TRY(evaluate(std::span(&number, 1), fidelity));
  const auto* outcome = entry(number).latest();
  if (outcome == nullptr) return Error{ErrorKind::Unavailable, "interrupted"};
  return *outcome;
}

Result<void> Run::set_best(Number number) {
  if (state_.best == number) return {};
  const auto* scored = entry(number).scored();
  return append(BestChanged{number, scored == nullptr ? 0 : scored->seconds});
}

Result<void> Run::record_step(StepDone step) {
  // Steps are replayed by their order.
  if (steps_ < state_.steps.size() && state_.steps[steps_].step == step.step) {
    ++steps_;
    return {};
  }
  CUCO_TRY(append(std::move(step)));
  steps_ = state_.steps.size();
  return {};
}

Result<void> Run::finish(std::string reason) {
  if (state_.finished) return {};
  return append(RunFinished{std::move(reason)});
}

}  // namespace cuco::candidate
