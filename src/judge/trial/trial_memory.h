// SPDX-License-Identifier: Apache-2.0
/// \file
/// A trial's buffers as the judge sees them: inputs put there, outputs poisoned, and what must be
/// true of both when the ranks are done.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/outcome.h"
#include "judge/oracle/gpu_reference.h"
#include "judge/oracle/oracle.h"
#include "judge/trial/trial_spec.h"
#include "rank/rank_job.h"

namespace cuco::judge {

/// An iteration and the buffers that it works in.
struct Turn {
  int iteration = 0;
  int set = 0;
};

class TrialMemory {
 public:
  TrialMemory(const TrialSpec& spec, Oracle& oracle, targets::Target& target)
      : spec_(spec), oracle_(oracle), target_(target) {}

  /// Sizes of the buffers, for the ranks to allocate.
  [[nodiscard]] Result<void> describe(rank::RankJob* job);
  /// What one rank has allocated, in the ranks' order.
  [[nodiscard]] Result<void> add_rank(std::string_view addresses);

  /// New inputs, poisoned outputs, guard zones of each; and all outputs will be kept as each rank
  /// arrives.
  [[nodiscard]] Result<void> place(const std::vector<Turn>& turns);
  /// Every output of every turn is right, nothing else was touched. `schedule`: for the report.
  [[nodiscard]] Result<std::optional<candidate::Outcome>> check(const std::string& schedule);
  /// By iteration, if they were to be kept.
  [[nodiscard]] TrialOutputs take_outputs() { return std::move(kept_); }

 private:
  using OptionalOutcome = std::optional<candidate::Outcome>;
  /// What a turn was given.
  struct Given {
    Turn turn;
    std::string guard;
    std::map<std::pair<int, std::size_t>, std::string> pristine;  ///< Inputs.
  };
  Result<std::string> input(int iteration, int rank, std::size_t i);
  Result<void> place_on(int rank, Given* given);
  Result<OptionalOutcome> check_turn(std::size_t index);
  Result<OptionalOutcome> check_output(std::size_t turn, int rank, std::size_t output);
  [[nodiscard]] OptionalOutcome compare_with_seed(
      int iteration, int rank, std::size_t output, const std::string& bytes, double scale) const;
  Result<OptionalOutcome> check_untouched(int rank, const Given& given);
  [[nodiscard]] candidate::WrongResult wrong(int iteration, int rank, std::size_t output) const;

  [[nodiscard]] std::uint64_t input_at(int rank, int set, std::size_t i) const;
  [[nodiscard]] std::uint64_t output_at(int rank, int set, std::size_t i) const;

  const TrialSpec& spec_;
  Oracle& oracle_;
  targets::Target& target_;
  std::vector<workload::Buffer> inputs_;
  std::vector<workload::Buffer> outputs_;
  std::vector<std::vector<std::uint64_t>> addresses_;            ///< By rank: inputs, then outputs.
  std::vector<Given> given_;                                     ///< Between "go" and "done".
  std::map<std::pair<int, std::size_t>, std::string> previous_;  ///< Outputs of the last one.
  std::vector<Answer> answers_;  ///< Of this turn, if there is a reference.
  TrialOutputs kept_;
  std::string schedule_;
};

}  // namespace cuco::judge
