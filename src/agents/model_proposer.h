// SPDX-License-Identifier: Apache-2.0
/// \file
/// A proposer backed by a model or a program.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "agents/prompt.h"
#include "candidate/proposer.h"
#include "llm/provider.h"

namespace cuco::agents {

/// How a model is asked.
struct ModelCall {
  std::chrono::seconds deadline{600};
  int max_tokens = 16384;
  std::string effort;             ///< Empty: the model's own default.
  std::uint64_t run_seed = 0;     ///< Tasks are numbered from it.
  std::function<bool()> stopped;  ///< The user wants to stop; may be empty.
};

class ModelProposer final : public candidate::Proposer {
 public:
  /// `provider` must outlive it. `file` is the seed's file that evolves.
  ModelProposer(llm::Provider& provider, Problem problem, std::string file, ModelCall call)
      : provider_(provider),
        problem_(std::move(problem)),
        file_(std::move(file)),
        call_(std::move(call)) {}

  [[nodiscard]] std::string name() const override;

  /// An unusable answer, or one that breaks a rule, costs a candidate and says why; so does a late
  /// one. Only a provider that cannot be reached is an Error.
  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog& log) override;

  /// What the model is asked for this task.
  [[nodiscard]] llm::Request request_for(const candidate::Task& task) const;

 private:
  [[nodiscard]] Result<candidate::Proposal> read(const std::string& answer,
                                                 const candidate::Task& task) const;

  llm::Provider& provider_;
  Problem problem_;
  std::string file_;
  ModelCall call_;
};

}  // namespace cuco::agents
