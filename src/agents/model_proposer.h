// SPDX-License-Identifier: Apache-2.0
/// \file
/// A proposer backed by a model or a program.
#pragma once

#include <string>

#include "agents/questioner.h"
#include "candidate/proposer.h"

namespace cuco::agents {

class ModelProposer final : public candidate::Proposer {
 public:
  /// `questioner` must outlive it. `file` is the seed's file that evolves.
  ModelProposer(const Questioner& questioner, std::string file)
      : questioner_(questioner), file_(std::move(file)) {}

  [[nodiscard]] std::string name() const override { return questioner_.name(); }
  [[nodiscard]] int in_flight() const override { return questioner_.in_flight(); }

  /// Asks the role that the task is for. An unusable answer, or one that breaks a rule, costs a
  /// candidate and says why; so does a late one. Only a provider that cannot be reached is an
  /// Error.
  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog& log) override;

 private:
  [[nodiscard]] Result<candidate::Proposal> read(const std::string& answer,
                                                 const candidate::Task& task) const;

  const Questioner& questioner_;
  std::string file_;
};

}  // namespace cuco::agents
