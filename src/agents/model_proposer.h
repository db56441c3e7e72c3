// SPDX-License-Identifier: Apache-2.0
/// \file
/// A proposer backed by a model or a program.
#pragma once

#include <chrono>
#include <string>

#include "agents/prompt.h"
#include "candidate/proposer.h"
#include "llm/provider.h"

namespace cuco::agents {

class ModelProposer final : public candidate::Proposer {
 public:
  /// `provider` must outlive it. `file` is the seed's file that evolves.
  ModelProposer(llm::Provider& provider,
                Problem problem,
                std::string file,
                std::chrono::seconds deadline)
      : provider_(provider),
        problem_(std::move(problem)),
        file_(std::move(file)),
        deadline_(deadline) {}

  [[nodiscard]] std::string name() const override;

  /// An unusable answer, or one that breaks a rule, costs a candidate and says why; so does a late
  /// one. Only a provider that cannot be reached is an Error.
  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog& log) override;

 private:
  [[nodiscard]] Result<candidate::Proposal> read(const std::string& answer,
                                                 const candidate::Task& task) const;

  llm::Provider& provider_;
  Problem problem_;
  std::string file_;
  std::chrono::seconds deadline_;
};

}  // namespace cuco::agents
