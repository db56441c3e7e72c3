// SPDX-License-Identifier: Apache-2.0
/// \file
/// Run: a run in progress. Whoever searches asks it for candidates and verdicts; it numbers,
/// records and remembers them.
///
/// Resuming is replaying: the search starts from the beginning again, and everything that is
/// already in the store is answered from there, so nothing is evaluated or bought twice.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "candidate/evaluator.h"
#include "candidate/proposer.h"
#include "candidate/run_state.h"
#include "candidate/store.h"

namespace cuco::candidate {

struct RunSettings {
  std::uint64_t seed = 0;
  int parallel = 1;  ///< Evaluations side by side.
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

  /// Records the start, unless the store has one already.
  [[nodiscard]] Result<void> start(RunStarted started);

  /// The next candidate: the stored one when replaying, else what `proposer` answers. A rejected
  /// answer becomes a candidate with that verdict; so does code that is in the run already. Nothing
  /// when the proposer has no more ideas.
  [[nodiscard]] Result<std::optional<Number>> next_candidate(Proposer& proposer,
                                                             Number parent,
                                                             std::string_view phase);

  /// Like next_candidate for a given proposal (the seed, a step of the fast path).
  [[nodiscard]] Result<Number> add_candidate(Proposal proposal);

  /// Verdicts at that fidelity, evaluated side by side where they are not known yet. Candidates
  /// that were turned down before keep that verdict.
  [[nodiscard]] Result<void> evaluate(std::span<const Number> numbers, Fidelity fidelity);
  [[nodiscard]] Result<Outcome> evaluate(Number number, Fidelity fidelity);

  [[nodiscard]] Result<void> set_best(Number number);
  [[nodiscard]] Result<void> record_step(StepDone step);
  [[nodiscard]] Result<void> finish(std::string reason);

  [[nodiscard]] const RunState& state() const { return state_; }
  [[nodiscard]] const Entry& entry(Number number) const;
  [[nodiscard]] Evaluator& evaluator() { return *evaluator_; }
  [[nodiscard]] const Clock& clock() const { return *clock_; }
  [[nodiscard]] bool stop_requested() const;
  /// Candidates that were asked for in this process, replayed ones included.
  [[nodiscard]] int candidates() const { return next_; }

  /// Speed-up of the candidate's latest time over the seed; 0 when it has none.
  [[nodiscard]] double speedup(Number number) const;

 private:
  Run(CandidateStore& store, Evaluator& evaluator, const Clock& clock, RunSettings settings)
      : store_(&store), evaluator_(&evaluator), clock_(&clock), settings_(std::move(settings)) {}

  Result<void> append(EventBody body);
  Result<void> append_locked(EventBody body);
  [[nodiscard]] bool replaying() const { return next_ < static_cast<int>(state_.entries.size()); }
  Result<Number> record(Proposed proposed);
  std::optional<Number> same_code(const Candidate& candidate) const;

  CandidateStore* store_;
  Evaluator* evaluator_;
  const Clock* clock_;
  RunSettings settings_;
  RunState state_;
  std::vector<Judged> history_;  ///< What proposers see; one per asked-for candidate.
  int next_ = 0;
  std::size_t steps_ = 0;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

}  // namespace cuco::candidate
