// SPDX-License-Identifier: Apache-2.0
/// \file
/// Proposer: where candidates come from, be it rules, a model or a script.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"

namespace cuco::candidate {

/// A candidate with its latest verdict.
struct Judged {
  Candidate candidate;
  Outcome outcome;
};

/// One question to a model or a program and its answer, kept for ever.
struct Exchange {
  std::string provider;
  std::string model;
  std::string prompt;
  std::string answer;
  int prompt_tokens = 0;
  int answer_tokens = 0;
  double seconds = 0;
  bool operator==(const Exchange&) const = default;
};

/// What a proposer may look at. Nothing else: the same view and the same seed give the same
/// proposal (for a model: the same prompt).
struct SearchView {
  std::span<const Judged> history;  ///< By number; history[0] is the seed.
  Number parent = kSeed;            ///< What to improve.
  std::uint64_t seed = 0;
  /// Answers that were paid for this very candidate before the run was interrupted: the same
  /// question is not asked again.
  std::span<const Exchange> paid{};
};

struct Proposal {
  program::Source source;
  design::Directive directive;
  Lineage lineage;
};

/// A usable proposal, or why the answer was none. Either costs one candidate.
struct ProposerAnswer {
  std::variant<Proposal, ProposalRejected> proposal;
  std::vector<Exchange> exchanges;
};

class Proposer {
 public:
  virtual ~Proposer() = default;

  [[nodiscard]] virtual std::string name() const = 0;

  /// The next proposal; nothing when it has no more ideas. An Error means that it could not be
  /// asked (no network, deadline) and costs no candidate.
  [[nodiscard]] virtual Result<std::optional<ProposerAnswer>> propose(const SearchView& view) = 0;
};

}  // namespace cuco::candidate
