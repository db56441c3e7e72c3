// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel designs that are worth a try: a list of those a few steps from the seed, and then the
/// neighbours of the best so far, those first that its profile asks for.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"
#include "candidate/history.h"
#include "expert/kernels/steps.h"

namespace cuco::expert::kernels {

struct Move {
  design::KernelDesign design;
  candidate::Number parent = candidate::kSeed;
  std::string because;
  std::string source;
};

/// A design of the list.
struct Listed {
  design::KernelDesign design;
  std::string because;
  double promise = 1;  ///< Speed-up over the seed that may be hoped for.
  std::string hash;    ///< Of its normalised code.
};

class Moves {
 public:
  Moves(analysis::CommunicationGraph graph, std::string text)
      : graph_(std::move(graph)),
        text_(std::move(text)),
        facts_(find_launch_facts(graph_, text_)) {}

  /// All designs that a few steps lead to from the seed, the nearest first, whatever they turn out
  /// to gain; each is another program. What its verdict asks for promises more. Made once.
  [[nodiscard]] const std::vector<Listed>& list(const candidate::Judged& seed);

  /// That design as a program; it must be of the list.
  [[nodiscard]] std::string source_of(const design::KernelDesign& design);

  /// The next design, as the history has it; the moves of the last `unseen` turns have no verdict
  /// yet. Nothing when all designs near the best are known.
  [[nodiscard]] std::optional<Move> next(const candidate::History& history, int unseen);

  /// Why the dimensions of the design space that fit no kernel do not.
  [[nodiscard]] std::vector<std::string> refusals();

 private:
  struct Rewritten {
    std::string source, hash, refusal;
  };
  /// A candidate of the run that has a kernel design, the seed's default one among them.
  struct Known {
    design::KernelDesign design;
    const candidate::Judged* judged;
    double speedup;  ///< Over the seed; 0 where it failed.
  };
  struct Offered {
    std::set<design::KernelDesign> designs;
    std::set<std::string> hashes;
  };

  static std::vector<Known> known_designs(const candidate::History& history);
  std::optional<Move> best_step(std::span<const Known> known, Offered& offered);
  const Rewritten& rewritten(const design::KernelDesign& design);

  analysis::CommunicationGraph graph_;
  std::string text_;
  LaunchFacts facts_;
  std::mutex mutex_;  ///< Proposers are asked from several threads.
  std::map<design::KernelDesign, Rewritten> rewritten_;
  std::vector<Listed> list_;
};

}  // namespace cuco::expert::kernels
