// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tuning: a small team makes one program faster, round by round.
///
///     tester     once: shapes on which rewrites are likely to be wrong
///     profiler   each round: where the best program's time goes
///     planner    three plans from that, with the gain it expects of each
///     coder      the first plan; if that is no gain, the next one
///     repair     what was rejected goes back with its verdict, at most twice, with a diagnosis
///                the second time
///     summariser what the round has taught, for the next one
///
/// The next round starts from the best so far: what is slower is left where it is. Every question
/// is a decision of the run and durable by itself. Without a planner the coder decides for itself,
/// so that the expert tunes, too.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/run.h"

namespace cuco::search {

/// Who is there; only the coder has to be. The functions read what advisors answer.
struct Team {
  candidate::Proposer* coder = nullptr;
  candidate::Advisor* tester = nullptr;
  candidate::Advisor* profiler = nullptr;
  candidate::Advisor* planner = nullptr;
  candidate::Advisor* explainer = nullptr;
  candidate::Advisor* summariser = nullptr;
  std::function<Result<std::vector<candidate::Plan>>(const std::string&)> read_plans;
  std::function<Result<std::vector<std::string>>(const std::string&)> read_notes;
  /// What others are told of the profiler's and the explainer's words.
  std::function<std::string(const std::string&)> read_words;
  /// Adds the shapes that an answer names to what is checked; a sentence about them.
  std::function<Result<std::string>(const std::string&)> add_shapes;
};

struct TuneOptions {
  int rounds = 5;
  int plans = 3;    ///< Of a round, at most; without a planner: proposals.
  int repairs = 2;  ///< Of a candidate that was rejected.
};

struct TuneResult {
  std::optional<candidate::Number> winner;  ///< Faster than the seed at Final fidelity.
  std::string reason;                       ///< Why it ended.
};

/// Needs the seed (candidate 0) judged already.
[[nodiscard]] Result<TuneResult> tune(candidate::Run& run,
                                      const Team& team,
                                      const TuneOptions& options);

}  // namespace cuco::search
