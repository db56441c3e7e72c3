// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which kernel design to try next: the neighbours of the best one so far, those first that its
/// profile asks for.
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

class Moves {
 public:
  Moves(analysis::CommunicationGraph graph, std::string text)
      : graph_(std::move(graph)),
        text_(std::move(text)),
        facts_(find_launch_facts(graph_, text_)) {}

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
};

}  // namespace cuco::expert::kernels
