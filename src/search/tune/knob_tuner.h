// SPDX-License-Identifier: Apache-2.0
/// \file
/// KnobTuner: a proposer that turns the knobs of programs that others have written. It needs no
/// model, and knows nothing of what a knob means.
///
/// Successive halving over turns: each knob of a program is doubled and halved by itself; of these
/// turns those that gained are joined, two by two, then four by four, until joining gains nothing.
/// What a turn has given on one program counts on others that have the same knob.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "candidate/proposer.h"
#include "program/knobs.h"

namespace cuco::search {

class KnobTuner final : public candidate::Proposer {
 public:
  [[nodiscard]] std::string name() const override { return "tuner"; }
  [[nodiscard]] std::vector<candidate::Operation> operations() const override {
    return {candidate::Operation::Tune};
  }

  /// Another setting of the task's parent or, where all of its are known, of the fastest program
  /// that has one left. Nothing when no knob promises anything.
  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog& log) override;

 private:
  /// A knob and which way it is turned: the same on every program that has it.
  using Direction = std::pair<std::string, bool>;
  /// Sum and number of the logarithms of what a move gained.
  struct Effect {
    double sum = 0;
    int count = 0;
    [[nodiscard]] double mean() const { return count > 0 ? sum / count : 0; }
  };
  struct Effects {
    std::map<program::Turn, Effect> turns;
    std::map<Direction, Effect> directions;
  };
  struct Option {
    std::vector<program::Turn> turns;
    double promise = 0;
    bool has_gained = false;  ///< By itself, here or elsewhere.
  };

  [[nodiscard]] const std::vector<program::Turn>& turns_of(const candidate::Candidate& child,
                                                           const candidate::Candidate& parent);
  [[nodiscard]] Effects effects(const candidate::History& history);
  [[nodiscard]] static Option option(const program::Turn& turn, const Effects& effects);
  [[nodiscard]] static std::vector<Option> options(std::string_view text, const Effects& effects);
  std::optional<candidate::Proposal> turn(const candidate::Task& task,
                                          candidate::Number parent,
                                          const Effects& known,
                                          const std::set<std::string>& tried,
                                          std::size_t* unseen);

  std::mutex mutex_;
  std::map<std::string, std::vector<program::Turn>> read_;  ///< By the child's code: pure.
};

}  // namespace cuco::search
