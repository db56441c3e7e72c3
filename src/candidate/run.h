// SPDX-License-Identifier: Apache-2.0
/// \file
/// Run: a run in progress. Whoever searches asks it for candidates and verdicts; it numbers,
/// records and remembers them.
///
/// Resuming is replaying: the search starts from the beginning again, and everything that is
/// already in the store is answered from there, so nothing is evaluated or bought twice.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "candidate/evaluator.h"
#include "candidate/pipeline/twins.h"
#include "candidate/proposer.h"
#include "candidate/run_state.h"
#include "candidate/store.h"
#include "candidate/strategy.h"

namespace cuco::candidate {

/// What may be spent on questions to models; nothing set: no limit.
struct ExchangeBudget {
  std::optional<std::int64_t> calls;
  std::optional<std::int64_t> tokens;
  std::optional<double> dollars;
};

struct RunSettings {
  std::uint64_t seed = 0;
  int jobs = 1;    ///< Evaluations side by side: how long a run takes, never what comes out.
  int window = 1;  ///< Of a new run; see RunStarted. A resumed one keeps its own.
  int tries = 3;   ///< Of work that fails, before it is set aside.
  ExchangeBudget exchanges{};
  /// Called after each event, in the order of the store, from one thread at a time.
  std::function<void(const Event&, const RunState&)> observer;
  std::function<bool()> stop_requested;  ///< Asked between steps; may be empty.
};

class Run {
 public:
  /// All must outlive the run. Reads the store's events; an empty store starts a new run.
  [[nodiscard]] static Result<Run> open(CandidateStore& store,
                                        Evaluator& evaluator,
                                        const Clock& clock,
                                        RunSettings settings);

  /// Records the start. Where the store has one already, verdicts must still mean the same:
  /// InvalidInput says what has changed since.
  [[nodiscard]] Result<void> start(RunStarted started);

  /// A candidate that nobody has to be asked for (the seed).
  [[nodiscard]] Result<Number> add_candidate(Proposal proposal);

  /// One decision by itself: asks, and shows the proposer all that is known. A rejected answer
  /// becomes a candidate with that verdict; so does code that is in the run already. Nothing when
  /// the proposer has no more ideas or cannot be asked.
  [[nodiscard]] Result<std::optional<Number>> ask(Proposer& proposer, Task task);

  /// One decision that gives no candidate: the last answer that the advisor got, from the store if
  /// it is there. Nothing when nobody could be asked; what failed is set aside.
  [[nodiscard]] Result<std::optional<std::string>> consult(Advisor& advisor, Task task);

  /// Decisions of the strategy until it has no more, as a pipeline: while some candidates are
  /// judged at that rung, others are built and asked for. See pipeline.h.
  [[nodiscard]] Result<void> pursue(Strategy& strategy, Rung rung);

  /// Verdicts at that rung, evaluated side by side where they are not known yet. Candidates that
  /// were turned down before keep that verdict; what cannot be evaluated is set aside.
  [[nodiscard]] Result<void> evaluate(std::span<const Number> numbers, Rung rung);
  /// The verdict at that rung, or the one that ended the candidate before. An Error if there is
  /// none: it was set aside, or the run was interrupted.
  [[nodiscard]] Result<Outcome> evaluate(Number number, Rung rung);

  /// Is the challenger faster by more than the least gain that counts? Predicted times decide
  /// themselves; measured ones are compared side by side, and that is recorded.
  [[nodiscard]] Result<bool> is_faster(Number challenger, Number incumbent, Rung rung);

  [[nodiscard]] Result<void> set_best(Number number);
  [[nodiscard]] Result<void> record_step(StepDone step);
  /// Plans and notes are replayed by their order, like steps. The plan's number is the run's.
  [[nodiscard]] Result<PlanNumber> record_plan(Plan plan);
  [[nodiscard]] Result<void> record_notes(std::vector<std::string> notes);
  [[nodiscard]] Result<void> finish(std::string reason, bool repeatable = true);

  [[nodiscard]] const RunState& state() const { return state_; }
  [[nodiscard]] const Entry& entry(Number number) const;
  [[nodiscard]] Evaluator& evaluator() { return *evaluator_; }
  [[nodiscard]] const Clock& clock() const { return *clock_; }
  [[nodiscard]] bool stop_requested() const;
  [[nodiscard]] std::uint64_t seed() const { return settings_.seed; }
  /// Decisions that may be under way at once.
  [[nodiscard]] int window() const { return settings_.window; }
  /// The number of the next decision.
  [[nodiscard]] Decision next_decision() const { return next_; }
  /// Candidates that came up in this process, replayed ones included.
  [[nodiscard]] int candidates() const { return static_cast<int>(known_.size()); }

  /// The candidate's time at that rung; null if it has none there.
  [[nodiscard]] const Scored* scored(Number number, Rung rung) const;
  /// Its speed-up over the seed at that rung; 1 for the seed, 0 without a time.
  [[nodiscard]] double speedup(Number number, Rung rung) const;

 private:
  friend class Pipeline;
  friend class StoredExchanges;

  Run(CandidateStore& store, Evaluator& evaluator, const Clock& clock, RunSettings settings)
      : store_(&store), evaluator_(&evaluator), clock_(&clock), settings_(std::move(settings)) {}

  /// The store's verdict at that rung becomes known, if it has one: it was asked for.
  void reveal(Number number, Rung rung);
  Result<void> append(EventBody body);
  Result<void> append_locked(EventBody body);
  /// A decision that the store has already, if it has.
  [[nodiscard]] const Decided* stored(Decision decision) const;
  /// What a proposer's answer becomes: the events of the next decision.
  Result<std::optional<Number>> record(Decision decision,
                                       const Assignment& asked,
                                       Result<std::optional<ProposerAnswer>> answer);
  Result<Number> record(Proposed proposed);
  /// Makes the candidate part of what proposers see; with its verdict once that is known.
  void show(Number number, const Outcome* outcome);
  [[nodiscard]] bool is_open(Number number, Rung rung) const;

  CandidateStore* store_;
  Evaluator* evaluator_;
  const Clock* clock_;
  RunSettings settings_;
  RunState state_;
  std::vector<History::Item> known_;  ///< By number, as known in this process so far.
  std::unordered_map<std::string, Number> by_code_;  ///< Of all in `known_`.
  Twins twins_;
  Decision next_ = 0;
  /// What the store knows of verdicts that this process has not asked for yet. Decisions that are
  /// made again must not see it: they were made without.
  std::map<std::pair<Number, Rung>, std::vector<Event>> ahead_;
  /// How often each proposer was asked in each phase, by name.
  std::map<std::pair<std::string, std::string>, int> turns_;
  std::size_t steps_ = 0;
  std::size_t bests_ = 0;
  std::size_t plans_ = 0;
  std::size_t notes_ = 0;
  /// Guards the store and the state's growth: exchanges are stored from the proposers' threads.
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

}  // namespace cuco::candidate
