// SPDX-License-Identifier: Apache-2.0
#include "evaluation/pairs.h"

#include <array>

#include "evaluation/oracle.h"
#include "evaluation/rank_process.h"
#include "evaluation/trial.h"

namespace cuco::evaluation {

using candidate::Outcome;

Result<PairResult> run_pairs(const TrialSpec& incumbent,
                             const TrialSpec& candidate,
                             const system::Path& oracle,
                             const measure::PairedTest::Rules& rules) {
  CUCO_TRY_ASSIGN(Oracle first_oracle, Oracle::start(oracle));
  CUCO_TRY_ASSIGN(Oracle second_oracle, Oracle::start(oracle));
  CUCO_TRY_ASSIGN(VirtualCluster first_cluster, VirtualCluster::start(incumbent.cluster));
  CUCO_TRY_ASSIGN(VirtualCluster second_cluster, VirtualCluster::start(candidate.cluster));
  CUCO_TRY_ASSIGN(system::Process first_ranks, start_ranks(incumbent, first_cluster));
  CUCO_TRY_ASSIGN(system::Process second_ranks, start_ranks(candidate, second_cluster));
  Trial first(incumbent, first_oracle, std::move(first_cluster), std::move(first_ranks));
  Trial second(candidate, second_oracle, std::move(second_cluster), std::move(second_ranks));
  const auto failed = [](const Outcome& outcome) {
    return Error{ErrorKind::InvalidInput, "the incumbent fails: " + candidate::summary(outcome)};
  };
  CUCO_TRY_ASSIGN(const auto first_trouble, first.begin());
  if (first_trouble) return failed(*first_trouble);
  CUCO_TRY_ASSIGN(auto second_trouble, second.begin());
  if (second_trouble) return PairResult(*std::move(second_trouble));
  measure::PairedTest test(rules);
  // The first pair warms up: code is compiled and loaded in it.
  for (int i = 0; test.decision() == measure::Decision::Continue; ++i) {
    std::array<double, 2> seconds{};
    for (int turn = 0; turn < 2; ++turn) {
      const bool is_candidate = (turn == 1) != (i % 2 == 1);  // who goes first alternates
      CUCO_TRY_ASSIGN(auto timed, (is_candidate ? second : first).time_one(i));
      if (auto* outcome = std::get_if<Outcome>(&timed)) {
        if (!is_candidate) return failed(*outcome);
        return PairResult(std::move(*outcome));
      }
      seconds[is_candidate ? 1 : 0] = std::get<double>(timed);
    }
    if (i > 0) test.add(seconds[0], seconds[1]);
  }
  return PairResult(
      PairTimes{first.times(), second.times(), test.decision(), test.speedup_interval()});
}

}  // namespace cuco::evaluation
