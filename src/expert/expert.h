// SPDX-License-Identifier: Apache-2.0
/// \file
/// The built-in proposer: designs that are fitted to the program by its analysis. It needs no model
/// and gives the same proposals for the same program every time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/communication_graph.h"
#include "candidate/proposer.h"
#include "design/rules.h"
#include "expert/kernels/moves.h"

namespace cuco::expert {

/// One design with its knobs fixed.
struct Idea {
  design::Directive directive;
  std::string family;  ///< What shares everything but the knobs.
  std::string because;
  std::string source;          ///< The rewritten file.
  std::string continues = {};  ///< Code hash of the version that it goes on from; empty: the seed.
};

/// A design that was not offered, and why.
struct Discarded {
  std::string design;
  std::string reason;
};

struct Ideas {
  std::vector<Idea> ideas;  ///< The likeliest of a family first.
  std::vector<Discarded> discarded;
  /// For programs that do not communicate: further ideas, which depend on what earlier ones gave.
  std::shared_ptr<kernels::Moves> kernels;
};

/// The first of every family and region of the design space, then the second of each, and so on:
/// however few are tried, all kinds are. Families keep the order in which they come.
[[nodiscard]] std::vector<Idea> by_turns(std::vector<Idea> ideas);

/// What needs no look at how the program communicates: it as a CUDA graph and, where it does not
/// communicate, its kernels.
[[nodiscard]] Ideas make_ideas(const analysis::CommunicationGraph& graph, std::string_view text);

/// The fast path's two steps, as ideas: the infrastructure alone, and conservative replacements
/// that go on from it.
struct FastPathIdeas {
  Idea infrastructure;
  std::vector<Idea> replacements;
};

/// What candidates are known by.
[[nodiscard]] std::string code_hash(const Idea& idea);

class Expert final : public candidate::Proposer {
 public:
  /// `path` is the file of the seed that the ideas rewrite.
  Expert(Ideas ideas, std::string path) : ideas_(std::move(ideas)), path_(std::move(path)) {}

  [[nodiscard]] std::string name() const override { return "expert"; }
  [[nodiscard]] bool enumerates() const override { return true; }
  [[nodiscard]] std::vector<candidate::Operation> operations() const override {
    return {candidate::Operation::Rewrite};
  }

  /// The ideas, the first of each kind above all; then the list of kernel designs.
  [[nodiscard]] std::vector<candidate::Offer> offers(const candidate::Judged& seed) override;

  /// What is asked for of its offers. Otherwise one idea a turn, in order, without those that an
  /// earlier phase has tried; then a move from the best kernel design.
  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog& log) override;

  [[nodiscard]] const Ideas& ideas() const { return ideas_; }

 private:
  [[nodiscard]] candidate::Proposal offered(std::size_t offer, const candidate::Task& task);
  [[nodiscard]] candidate::Proposal proposal(program::Source source,
                                             const design::Directive& directive,
                                             candidate::Number parent,
                                             std::string because) const;

  Ideas ideas_;
  std::string path_;
};

}  // namespace cuco::expert
