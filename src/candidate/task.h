// SPDX-License-Identifier: Apache-2.0
/// \file
/// Task: what a proposer is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "candidate/history.h"
#include "candidate/plan.h"

namespace cuco::candidate {

/// Decisions of a run are numbered from 0 (the seed): each asks one proposer for one candidate.
using Decision = int;

/// What to do with the parent.
enum class Operation {
  Rewrite,    ///< Another design.
  Edit,       ///< The same design, better.
  Crossover,  ///< The parent's design with what the inspirations do better.
  Repair,     ///< Make a candidate that failed work.
  Tune,       ///< The same code with other constants.
  Jump,       ///< Another design, which the plan names.
};

[[nodiscard]] std::string_view name(Operation operation);
[[nodiscard]] std::optional<Operation> parse_operation(std::string_view word);

/// Nothing else may decide an answer: the same task gives the same proposal (for a model: the same
/// prompt).
struct Task {
  std::string island;  ///< Group of candidates that compete first; empty: the whole run.
  std::string phase;   ///< "fast path", "enumerate", "explore", "exploit".
  Operation operation = Operation::Rewrite;
  Number parent = kSeed;             ///< What to improve.
  std::vector<Number> inspirations;  ///< Others worth a look, instructive failures among them.
  std::optional<Plan> plan;          ///< What to implement; nothing: the proposer decides.
  std::vector<std::string> notes;    ///< What was learnt so far, for people and models.
  std::optional<std::size_t> offer;  ///< Which of its offers to make; nothing: what comes next.
  int turn = 0;                      ///< How often this proposer was asked before in this phase.
  Decision as_of = 0;                ///< The history holds what decisions before this one gave.
  std::uint64_t seed = 0;
  History history;
};

}  // namespace cuco::candidate
