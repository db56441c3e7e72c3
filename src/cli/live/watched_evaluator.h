// SPDX-License-Identifier: Apache-2.0
/// \file
/// WatchedEvaluator: an evaluator that keeps a table of what it works on.
#pragma once

#include <optional>

#include "candidate/evaluator.h"
#include "cli/live/in_flight.h"

namespace cuco::cli {

class WatchedEvaluator final : public candidate::Evaluator {
 public:
  /// Both must outlive it.
  WatchedEvaluator(candidate::Evaluator& evaluator, InFlight& table)
      : evaluator_(evaluator), table_(table) {}

  [[nodiscard]] candidate::Target target() const override { return evaluator_.target(); }
  [[nodiscard]] candidate::Provenance provenance() const override {
    return evaluator_.provenance();
  }
  std::optional<candidate::MachineCode> build(const candidate::Candidate& candidate,
                                              candidate::Rung rung) override {
    const auto stay = note(candidate, Work::Building, rung);
    return evaluator_.build(candidate, rung);
  }
  [[nodiscard]] Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate,
                                                    candidate::Rung rung) override {
    const auto stay = note(candidate, Work::Judging, rung);
    return evaluator_.evaluate(candidate, rung);
  }
  [[nodiscard]] Result<candidate::Comparison> compare(const candidate::Candidate& challenger,
                                                      const candidate::Candidate& incumbent,
                                                      candidate::Rung rung) override {
    const auto stay = note(challenger, Work::Comparing, rung);
    return evaluator_.compare(challenger, incumbent, rung);
  }

 private:
  [[nodiscard]] InFlight::Stay note(const candidate::Candidate& candidate,
                                    Work work,
                                    candidate::Rung rung) {
    const auto file = candidate.source.find("program.cu");
    return {table_,
            {.number = candidate.number, .work = work, .fidelity = rung.fidelity},
            file == nullptr ? std::string() : file->text};
  }

  candidate::Evaluator& evaluator_;
  InFlight& table_;
};

}  // namespace cuco::cli
