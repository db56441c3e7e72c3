// SPDX-License-Identifier: Apache-2.0
/// \file
/// A proposer that says what it was told to, line by line.
#pragma once

#include <string>
#include <vector>

#include "candidate/proposer.h"

namespace cuco::fakes {

/// Each line becomes the whole program; "reject REASON" becomes a rejected answer.
class ScriptedProposer final : public candidate::Proposer {
 public:
  explicit ScriptedProposer(std::vector<std::string> lines) : lines_(std::move(lines)) {}

  [[nodiscard]] std::string name() const override { return "script"; }

  Result<std::optional<candidate::ProposerAnswer>> propose(
      const candidate::SearchView& view) override {
    ++asked;
    parents.push_back(view.parent);
    // By how many of its answers are there already, so that it also works in a resumed run.
    std::size_t mine = 0;
    for (const auto& judged : view.history) {
      if (judged.candidate.lineage.proposer == name()) ++mine;
    }
    if (mine >= lines_.size()) return std::optional<candidate::ProposerAnswer>();
    const auto& line = lines_[mine];
    candidate::ProposerAnswer answer;
    answer.exchanges.push_back({.provider = "script", .prompt = "next", .answer = line});
    if (line.starts_with("reject ")) {
      answer.proposal = candidate::ProposalRejected{line.substr(7), line};
    } else {
      candidate::Proposal proposal{.source = program::single_file("program.cu", line)};
      proposal.lineage.proposer = name();
      answer.proposal = std::move(proposal);
    }
    return std::optional(std::move(answer));
  }

  int asked = 0;
  std::vector<candidate::Number> parents;

 private:
  std::vector<std::string> lines_;
};

}  // namespace cuco::fakes
