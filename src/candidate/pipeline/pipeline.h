// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pipeline: decisions, builds and judgements of a run side by side.
///
///     strategy ──▶ ask ──▶ record ──▶ build ──▶ judge ──▶ see
///                threads    in order    jobs/2     jobs     in order
///              per proposer
///
/// Between build and judge, in the order in which they were asked for, candidates whose machine
/// code another one has had wait for its verdict: a time is theirs, too (see twins.h).
///
/// Decision n is made when decisions up to n - W have been seen, and sees exactly those, even if
/// later ones are done already. So at most W decisions are under way, which bounds every queue, and
/// what is decided depends on W alone. Answers are recorded in the order of decisions; one that is
/// early waits, with everything it cost already in the store.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "candidate/pipeline/lane.h"
#include "candidate/run.h"

namespace cuco::candidate {

class Pipeline {
 public:
  /// Without a rung candidates are recorded and not judged.
  Pipeline(Run& run, std::optional<Rung> rung);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Until the strategy has no more decisions, or somebody asks to stop.
  [[nodiscard]] Result<void> pursue(Strategy& strategy);
  /// Judges these, where that is still to be done.
  [[nodiscard]] Result<void> evaluate(std::span<const Number> numbers);

 private:
  /// A decision from the asking to the verdict.
  struct Work {
    Assignment asked;
    std::optional<Result<std::optional<ProposerAnswer>>> answer;
    bool stored = false;  ///< The store has the answer already.
    bool done = false;
    std::optional<Number> candidate;
    bool set_aside = false;
    std::string reason;
    std::string asked_before;  ///< Whose answer the store has.
  };
  struct Verdict {
    Number candidate = 0;
    std::optional<MachineCode> code;
    std::optional<Result<Outcome>> outcome;  ///< Nothing: somebody asked to stop.
    double wall_seconds = 0;
  };

  Result<void> begin(Assignment assignment);
  void ask(Decision decision, Work& work);
  Result<void> record_answers();
  /// The candidate of a decision is in the run: on to its verdict, if it needs one.
  void recorded(Decision decision, Work& work);
  void judge(Number number);
  /// It is built: those whose turn it is go on.
  Result<void> built(Number number, std::optional<MachineCode> code);
  /// To the judge, or to wait for another's verdict, or on with that.
  Result<void> go_on(Number number, const std::optional<MachineCode>& code);
  [[nodiscard]] Verdict verdict_on(const Candidate& candidate,
                                   std::optional<MachineCode> code) const;
  Result<void> take(Verdict verdict);
  void decided(Number number);
  [[nodiscard]] const Rung& rung() const;

  /// Shows the strategy all decisions up to `last`, once they are done. False: stopped before.
  Result<bool> see_up_to(Decision last, Strategy& strategy);
  Result<void> drain();
  /// Waits for a thread to hand something over, and deals with it.
  Result<void> handle_one();
  void hand_over(std::function<Result<void>()> what);
  [[nodiscard]] Work& work_of(Decision decision);

  Run& run_;
  std::optional<Rung> rung_;
  Decision seen_;                       ///< The next one to be seen,
  Decision recorded_;                   ///< the next one to be recorded.
  std::deque<Work> works_;              ///< From `seen_` on.
  std::map<Number, Decision> judging_;  ///< Candidates whose verdict a decision waits for.
  std::size_t under_way_ = 0;           ///< Asked, being built or being judged.
  struct Building {
    Number candidate = 0;
    bool done = false;
    std::optional<MachineCode> code;
  };
  std::deque<Building> building_;  ///< In the order in which verdicts were asked for.
  struct Waiting {
    Number candidate = 0;
    std::optional<MachineCode> code;
  };
  std::map<Number, std::vector<Waiting>> judged_;  ///< At the judge, with those who wait for them.

  // What threads hand over.
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::function<Result<void>()>> inbox_;

  // Last: their threads end before what they use.
  std::map<Proposer*, std::unique_ptr<Lane>> askers_;
  Lane judges_;
  Lane builders_;
};

}  // namespace cuco::candidate
