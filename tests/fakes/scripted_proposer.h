// SPDX-License-Identifier: Apache-2.0
/// \file
/// A proposer that says what it was told to, line by line.
#pragma once

#include <string>
#include <vector>

#include "candidate/proposer.h"

namespace cuco::fakes {

/// Each line becomes the whole program; "reject REASON" becomes a rejected answer. A line with
/// "GIN" claims that backend.
class ScriptedProposer final : public candidate::Proposer {
 public:
  explicit ScriptedProposer(std::vector<std::string> lines) : lines_(std::move(lines)) {}

  [[nodiscard]] std::string name() const override { return "script"; }
  [[nodiscard]] bool enumerates() const override { return finite; }

  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog& log) override {
    ++asked;
    parents.push_back(task.parent);
    phases.push_back(task.phase);
    seen.push_back(task.history.size());
    const auto turn = static_cast<std::size_t>(task.turn);
    if (turn >= lines_.size()) return std::optional<candidate::ProposerAnswer>();
    CUCO_TRY_ASSIGN(
        const auto exchange,
        log.ask({.provider = "script", .prompt = std::to_string(turn), .most_dollars = 2 * dollars},
                [&]() -> Result<candidate::Exchange> {
                  return candidate::Exchange{.answer = lines_[turn], .dollars = dollars};
                }));
    const auto& line = exchange.answer;
    if (line.starts_with("reject ")) {
      return std::optional(
          candidate::ProposerAnswer(candidate::ProposalRejected{line.substr(7), line}));
    }
    candidate::Proposal proposal{.source = program::single_file("program.cu", line)};
    proposal.lineage.proposer = name();
    if (line.find("GIN") != std::string::npos) proposal.directive.backend = design::Backend::Gin;
    return std::optional(candidate::ProposerAnswer(std::move(proposal)));
  }

  bool finite = false;  ///< Its lines are a space of its own.
  double dollars = 0;   ///< That an answer costs; twice that is reserved.
  int asked = 0;
  std::vector<std::string> phases;
  std::vector<candidate::Number> parents;
  std::vector<std::size_t> seen;  ///< Candidates in the history of each task.

 private:
  std::vector<std::string> lines_;
};

}  // namespace cuco::fakes
