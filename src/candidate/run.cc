// SPDX-License-Identifier: Apache-2.0
#include "candidate/run.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"
#include "candidate/pipeline/pipeline.h"
#include "program/tokens.h"

namespace cuco::candidate {

std::string_view name(Operation operation) {
  switch (operation) {
    case Operation::Rewrite:
      return "rewrite";
    case Operation::Edit:
      return "edit";
    case Operation::Crossover:
      return "crossover";
    case Operation::Repair:
      return "repair";
    case Operation::Tune:
      return "tune";
    case Operation::Jump:
      return "jump";
  }
  return "?";
}

std::optional<Operation> parse_operation(std::string_view word) {
  for (const auto operation : {Operation::Rewrite, Operation::Edit, Operation::Crossover,
                               Operation::Repair, Operation::Tune, Operation::Jump}) {
    if (name(operation) == word) return operation;
  }
  return std::nullopt;
}

namespace {

/// Whose verdict the event is, and at which rung; or that there will be none.
std::optional<std::pair<Number, Rung>> verdict_in(const Event& event) {
  if (const auto* judged = std::get_if<Evaluated>(&event.body))
    return std::pair(judged->candidate, judged->rung);
  const auto* aside = std::get_if<SetAside>(&event.body);
  if (aside == nullptr || !aside->candidate) return std::nullopt;
  return std::pair(*aside->candidate, aside->rung);
}

}  // namespace

Result<Run> Run::open(CandidateStore& store,
                      Evaluator& evaluator,
                      const Clock& clock,
                      RunSettings settings) {
  Run run(store, evaluator, clock, std::move(settings));
  CUCO_TRY_ASSIGN(std::vector<Event> events, store.events());
  for (Event& event : events) {
    if (const auto verdict = verdict_in(event)) {
      run.ahead_[*verdict].push_back(std::move(event));
    } else {
      run.state_.apply(event);
    }
  }
  if (run.state_.started) run.settings_.window = run.state_.started->window;
  return run;
}

void Run::reveal(Number number, Rung rung) {
  const auto found = ahead_.extract({number, rung});
  if (found.empty()) return;
  const std::lock_guard lock(*mutex_);
  const auto last = state_.last_ms;
  for (const Event& event : found.mapped()) {
    state_.apply(event);
    if (const auto* judged = std::get_if<Evaluated>(&event.body); judged && judged->code)
      twins_.first(number, rung, *judged->code);
  }
  state_.last_ms = last;
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
  if (!state_.started) {
    started.window = settings_.window;
    return append(std::move(started));
  }
  const auto changed = differences(state_.started->provenance, started.provenance);
  if (changed.empty()) return {};
  return Error{ErrorKind::InvalidInput,
               fmt::format("this run cannot be resumed, its verdicts and new ones would not "
                           "compare: {}; start a new run with cuco optimize",
                           join(changed, ", "))};
}

const Entry& Run::entry(Number number) const {
  CUCO_ASSERT(number >= 0 && static_cast<std::size_t>(number) < state_.entries.size());
  return state_.entries[static_cast<std::size_t>(number)];
}

bool Run::stop_requested() const {
  return settings_.stop_requested && settings_.stop_requested();
}

const Scored* Run::scored(Number number, Rung rung) const {
  const auto& outcomes = entry(number).outcomes;
  const auto found = outcomes.find(rung);
  return found == outcomes.end() ? nullptr : std::get_if<Scored>(&found->second);
}

double Run::speedup(Number number, Rung rung) const {
  if (number == kSeed) return 1;
  const auto* time = scored(number, rung);
  return time == nullptr || time->seconds <= 0 ? 0 : time->baseline_seconds / time->seconds;
}

const Decided* Run::stored(Decision decision) const {
  const auto index = static_cast<std::size_t>(decision);
  return index < state_.decisions.size() ? &state_.decisions[index] : nullptr;
}

void Run::show(Number number, const Outcome* outcome) {
  const auto index = static_cast<std::size_t>(number);
  CUCO_ASSERT(index <= known_.size());
  auto judged = std::make_shared<Judged>(Judged{entry(number).candidate, std::nullopt});
  if (outcome != nullptr) judged->outcome = *outcome;
  if (index < known_.size()) {
    known_[index] = std::move(judged);
    return;
  }
  // The first of its code stands for all that repeat it.
  if (!judged->candidate.code_hash.empty()) by_code_.emplace(judged->candidate.code_hash, number);
  known_.push_back(std::move(judged));
}

Result<Number> Run::record(Proposed proposed) {
  const auto number = proposed.candidate.number;
  const std::optional<Outcome> verdict =
      proposed.rejected ? std::optional<Outcome>(*proposed.rejected) : std::nullopt;
  CUCO_TRY(append(std::move(proposed)));
  show(number, verdict ? &*verdict : nullptr);
  return number;
}

Result<Number> Run::add_candidate(Proposal proposal) {
  const Decision decision = next_++;
  if (const auto* known = stored(decision)) {
    CUCO_ASSERT(known->candidate.has_value());
    show(*known->candidate, nullptr);
    return *known->candidate;
  }
  Candidate candidate{.number = static_cast<Number>(state_.entries.size()),
                      .source = std::move(proposal.source),
                      .directive = proposal.directive,
                      .lineage = std::move(proposal.lineage)};
  candidate.code_hash = program::normalised_hash(candidate.source);
  return record({std::move(candidate), std::nullopt, decision});
}

namespace {

std::optional<ProposalRejected> hopeless(const std::optional<Forecast>& forecast) {
  if (!forecast || forecast->judged) return std::nullopt;
  return ProposalRejected{fmt::format("not judged: its design lets expect {:.2f}x, {:.2f}x at most",
                                      forecast->speedup, forecast->high),
                          ""};
}

}  // namespace

Result<std::optional<Number>> Run::record(Decision decision,
                                          const Assignment& asked,
                                          Result<std::optional<ProposerAnswer>> answer) {
  const Task& task = asked.task;
  if (!answer) {
    CUCO_TRY(append(SetAside{.decision = decision,
                             .proposer = asked.proposer->name(),
                             .tries = settings_.tries,
                             .reason = answer.error().message()}));
    return std::optional<Number>();
  }
  auto& maybe = *answer;
  if (!maybe) {
    CUCO_TRY(append(Declined{decision, asked.proposer->name(), asked.proposer->why_nothing()}));
    return std::optional<Number>();
  }
  ProposerAnswer& given = *maybe;
  Candidate candidate{.number = static_cast<Number>(state_.entries.size())};
  std::optional<ProposalRejected> verdict;
  if (auto* rejected = std::get_if<ProposalRejected>(&given)) {
    candidate.lineage.parent = task.parent;
    verdict = std::move(*rejected);
  } else {
    auto& proposal = std::get<Proposal>(given);
    candidate.source = std::move(proposal.source);
    candidate.directive = proposal.directive;
    candidate.lineage = std::move(proposal.lineage);
    candidate.code_hash = program::normalised_hash(candidate.source);
    if (const auto twin = by_code_.find(candidate.code_hash); twin != by_code_.end()) {
      verdict = ProposalRejected{fmt::format("the same code as #{}", twin->second), ""};
    } else if (asked.expect) {
      candidate.lineage.forecast = asked.expect(candidate.directive);
      verdict = hopeless(candidate.lineage.forecast);
    }
  }
  candidate.lineage.proposer = asked.proposer->name();
  candidate.lineage.phase = task.phase;
  candidate.lineage.operation = name(task.operation);
  if (!task.island.empty()) candidate.lineage.island = task.island;
  if (task.plan && task.plan->number != kNotStored) candidate.lineage.plan = task.plan->number;
  candidate.lineage.inspirations = task.inspirations;
  CUCO_TRY_ASSIGN(const Number number,
                  record({std::move(candidate), std::move(verdict), decision}));
  return std::optional(number);
}

namespace {

/// A single decision, whatever it gives.
class Once final : public Strategy {
 public:
  Once(Proposer& proposer, Task task) : assignment_(Assignment{&proposer, std::move(task)}) {}
  std::optional<Assignment> next(int /*unseen*/) override {
    return std::exchange(assignment_, std::nullopt);
  }
  Result<void> see(const Seen& seen) override {
    candidate = seen.candidate;
    return {};
  }
  std::optional<Number> candidate;

 private:
  std::optional<Assignment> assignment_;
};

/// An advisor where a proposer is expected.
class Advising final : public Proposer {
 public:
  explicit Advising(Advisor& advisor) : advisor_(advisor) {}
  [[nodiscard]] std::string name() const override { return advisor_.name(); }
  [[nodiscard]] std::string why_nothing() const override { return "advice"; }
  Result<std::optional<ProposerAnswer>> propose(const Task& task, ExchangeLog& log) override {
    CUCO_TRY(advisor_.advise(task, log));
    return std::optional<ProposerAnswer>();
  }

 private:
  Advisor& advisor_;
};

}  // namespace

Result<std::optional<std::string>> Run::consult(Advisor& advisor, Task task) {
  const Decision decision = next_;
  Advising advising(advisor);
  Once once(advising, std::move(task));
  CUCO_TRY(Pipeline(*this, std::nullopt).pursue(once));
  const auto given = state_.unused_exchanges.find(decision);
  if (given == state_.unused_exchanges.end() || given->second.empty())
    return std::optional<std::string>();
  return std::optional(given->second.back().answer);
}

Result<std::optional<Number>> Run::ask(Proposer& proposer, Task task) {
  Once once(proposer, std::move(task));
  CUCO_TRY(Pipeline(*this, std::nullopt).pursue(once));
  return once.candidate;
}

Result<void> Run::pursue(Strategy& strategy, Rung rung) {
  return Pipeline(*this, rung).pursue(strategy);
}

bool Run::is_open(Number number, Rung rung) const {
  const auto& known = entry(number);
  // A verdict at a lower rung that is no time is final.
  for (const auto& [at, outcome] : known.outcomes) {
    if (at == rung || (at < rung && !std::holds_alternative<Scored>(outcome))) return false;
  }
  return !known.set_aside.contains(rung);
}

Result<void> Run::evaluate(std::span<const Number> numbers, Rung rung) {
  CUCO_TRY(Pipeline(*this, rung).evaluate(numbers));
  // What proposers see next, in the order of numbers, whichever evaluation ended first.
  for (const auto number : numbers) {
    const auto& outcomes = entry(number).outcomes;
    if (const auto found = outcomes.find(rung); found != outcomes.end())
      show(number, &found->second);
  }
  return {};
}

Result<Outcome> Run::evaluate(Number number, Rung rung) {
  CUCO_TRY(evaluate(std::span(&number, 1), rung));
  const auto& known = entry(number);
  // The verdict at this rung, or the one below that ended it.
  auto after = known.outcomes.upper_bound(rung);
  if (after != known.outcomes.begin()) {
    const auto& [at, outcome] = *--after;
    if (at == rung || !std::holds_alternative<Scored>(outcome)) return outcome;
  }
  if (const auto aside = known.set_aside.find(rung); aside != known.set_aside.end()) {
    return Error{ErrorKind::Unavailable, aside->second.reason};
  }
  return Error{ErrorKind::Unavailable, "interrupted"};
}

Result<bool> Run::is_faster(Number challenger, Number incumbent, Rung rung) {
  const double gained = speedup(challenger, rung);
  if (gained <= kLeastSpeedup) return false;
  if (is_predicted(rung.target)) return gained > speedup(incumbent, rung);
  // One lucky sample must not win: on hardware a promotion is the paired test, and nothing else.
  const auto known = std::find_if(state_.comparisons.begin(), state_.comparisons.end(),
                                  [&](const Compared& compared) {
                                    return compared.challenger == challenger &&
                                           compared.incumbent == incumbent && compared.rung == rung;
                                  });
  if (known != state_.comparisons.end()) return known->comparison.faster;
  auto compared =
      evaluator_->compare(entry(challenger).candidate, entry(incumbent).candidate, rung);
  if (!compared) {
    CUCO_TRY(append(SetAside{.decision = entry(challenger).decision,
                             .candidate = challenger,
                             .rung = rung,
                             .tries = 1,
                             .reason = compared.error().message()}));
    return false;
  }
  const bool faster = compared->faster;
  CUCO_TRY(append(Compared{challenger, incumbent, rung, *std::move(compared)}));
  return faster;
}

Result<void> Run::set_best(Number number) {
  // Like steps, changes are replayed by their order.
  if (bests_ < state_.bests.size() && state_.bests[bests_].candidate == number) {
    ++bests_;
    return {};
  }
  if (bests_ > 0 && bests_ == state_.bests.size() && state_.best == number) return {};
  const auto* time = entry(number).scored();
  CUCO_TRY(append(BestChanged{number, time == nullptr ? 0 : time->seconds}));
  bests_ = state_.bests.size();
  return {};
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

Result<PlanNumber> Run::record_plan(Plan plan) {
  plan.number = static_cast<PlanNumber>(plans_);
  if (plans_ < state_.plans.size()) return static_cast<PlanNumber>(plans_++);
  CUCO_TRY(append(Planned{std::move(plan)}));
  return static_cast<PlanNumber>(plans_++);
}

Result<void> Run::record_notes(std::vector<std::string> notes) {
  if (notes_++ < state_.notes.size()) return {};
  return append(Noted{std::move(notes)});
}

Result<void> Run::finish(std::string reason, bool repeatable) {
  // What an earlier process judged and this one did not need belongs to the run all the same.
  while (!ahead_.empty())
    reveal(ahead_.begin()->first.first, ahead_.begin()->first.second);
  if (state_.finished) return {};
  return append(RunFinished{std::move(reason), repeatable});
}

}  // namespace cuco::candidate
