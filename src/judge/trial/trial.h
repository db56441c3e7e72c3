// SPDX-License-Identifier: Apache-2.0
/// \file
/// One trial: a built candidate, one shape, several iterations with fresh inputs, each checked in
/// full view of the clock.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "judge/trial/bench.h"
#include "judge/trial/disturbance.h"
#include "judge/trial/trial_memory.h"
#include "judge/trial/trial_spec.h"

namespace cuco::judge {

class Trial {
 public:
  Trial(const TrialSpec& spec, Bench bench, std::unique_ptr<targets::Ranks> ranks)
      : spec_(spec),
        bench_(std::move(bench)),
        target_(*bench_.target),
        ranks_(std::move(ranks)),
        memory_(spec, *bench_.oracle, target_) {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  [[nodiscard]] Result<TrialResult> run();

  // The same step by step, for pairs.
  /// Until the candidate has set itself up; what went wrong, if anything did.
  [[nodiscard]] Result<std::optional<candidate::Outcome>> begin();
  /// The iteration's seconds, or what went wrong.
  [[nodiscard]] Result<std::variant<double, candidate::Outcome>> time_one(int iteration);
  /// The same of so many iterations from this one on, each on buffers of its own.
  [[nodiscard]] Result<std::variant<double, candidate::Outcome>> time_batch(int first, int count);
  [[nodiscard]] const TrialTimes& times() const { return times_; }

 private:
  /// What the ranks say after a step; an Outcome if they did not all end it well.
  using Step = std::variant<targets::AllReported, candidate::Outcome>;
  Result<Step> wait_for(std::string_view stage,
                        double limit_seconds,
                        std::chrono::nanoseconds cpu = std::chrono::nanoseconds::max());
  Result<std::optional<candidate::Outcome>> allocate();
  candidate::Outcome crashed(std::string reason);
  /// The server no longer has the memory that we gave: the candidate's doing. Other errors are
  /// ours.
  Result<std::optional<candidate::Outcome>> lost_buffers(const Error& error);
  Result<std::optional<candidate::Outcome>> finish();
  /// The iterations in the order in which they are run; those beyond the wanted ones are
  /// extra.
  [[nodiscard]] std::vector<int> plan() const;
  /// What the checker has to say, if this run has one and it is not satisfied.
  Result<std::optional<candidate::Outcome>> checker_findings();
  [[nodiscard]] bool probes() const { return spec_.hold_back && spec_.workload.ranks > 1; }
  [[nodiscard]] Disturbance disturb(int iteration) const;
  /// Seconds that an iteration may take.
  [[nodiscard]] double run_limit() const;
  /// One iteration, or several between one "go" and one "done": runs, checks, and notes the time of
  /// each.
  Result<std::optional<candidate::Outcome>> iterate(const std::vector<Turn>& turns);
  [[nodiscard]] std::vector<Turn> turn_of(int iteration) const {
    return {{iteration, spec_.set_of(iteration)}};
  }
  [[nodiscard]] Result<std::int64_t> start(const std::vector<Turn>& turns);
  [[nodiscard]] std::optional<candidate::Outcome> check_copies(
      const targets::AllReported& all) const;
  [[nodiscard]] candidate::Outcome too_busy(std::chrono::nanoseconds cpu) const;
  [[nodiscard]] candidate::Outcome host_finding(int rank,
                                                std::string kind,
                                                std::string message) const;

  const TrialSpec& spec_;
  Bench bench_;
  targets::Target& target_;
  std::unique_ptr<targets::Ranks> ranks_;
  TrialMemory memory_;
  TrialTimes times_;
  Disturbance disturbance_;  ///< Of this iteration.
};

/// Starts the candidate's ranks on the bench and runs the trial. The outcome is the candidate's; an
/// Error is ours.
[[nodiscard]] Result<TrialResult> run_trial(const TrialSpec& spec, Bench bench, BenchMaker& maker);

}  // namespace cuco::judge
