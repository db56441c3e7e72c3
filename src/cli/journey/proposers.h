// SPDX-License-Identifier: Apache-2.0
/// \file
/// From what the user asked for to proposers that can be asked.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "agents/model_proposer.h"
#include "analysis/communication_graph.h"
#include "base/clock.h"
#include "base/result.h"
#include "candidate/proposer.h"
#include "cli/journey/journey.h"
#include "expert/expert.h"
#include "expert/standalone/standalone_ideas.h"
#include "llm/provider.h"

namespace cuco::cli {

/// Analyses a program's text.
using ReadText = std::function<Result<analysis::CommunicationGraph>(const std::string&)>;

/// What proposers need to know.
struct Situation {
  const Subject& subject;
  const analysis::CommunicationGraph& graph;
  const expert::StandaloneIdeas& own;  ///< Versions with own collectives.
  candidate::Target target;
  design::NcclVersion nccl;
  system::Path cuda;
  ReadText read;
  /// Speed-up that earlier runs let expect of a design; empty: they are not asked.
  std::function<double(const design::Directive&)> expected = {};
  std::string run = {};  ///< Its name, for recordings.
};

/// Owns the proposers and what they lean on.
struct ProposerSet {
  std::vector<std::unique_ptr<llm::Provider>> providers;
  std::vector<std::unique_ptr<agents::Questioner>> questioners;  ///< One for each provider.
  std::vector<std::unique_ptr<candidate::Proposer>> proposers;
  expert::Expert* expert = nullptr;  ///< One of the proposers, if it was asked for.

  [[nodiscard]] std::vector<candidate::Proposer*> pointers() const;
};

/// What would keep make_proposers() from making one, found out before anything is judged: an
/// unknown name, a missing key, a command that is not there.
[[nodiscard]] Result<void> check_proposers(const JourneyOptions& options, Clock& clock);

/// `clock` must outlive the set. Unavailable names the variable when a key is missing.
[[nodiscard]] Result<ProposerSet> make_proposers(const JourneyOptions& options,
                                                 const Situation& situation,
                                                 Clock& clock);

/// How the seed, and what becomes of it, is analysed.
[[nodiscard]] Result<ReadText> make_reader(const Subject& subject, const system::Path& cuda);

/// What a model is told about the program and its target.
[[nodiscard]] Result<agents::Problem> describe_problem(const JourneyOptions& options,
                                                       const Situation& situation);

/// How a model is asked in this run.
[[nodiscard]] agents::ModelCall model_call(const JourneyOptions& options);

/// From the installed header; the version that this code was written for when it cannot be read.
[[nodiscard]] design::NcclVersion installed_nccl(const system::Path& cuda);

}  // namespace cuco::cli
