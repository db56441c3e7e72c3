// SPDX-License-Identifier: Apache-2.0
#include "evaluation/pairs.h"

#include <array>
#include <optional>

#include <fmt/format.h>

#include "evaluation/oracle.h"
#include "evaluation/rank_process.h"
#include "evaluation/trial.h"
#include "measure/samples.h"

namespace cuco::evaluation {

using candidate::Outcome;

namespace {

/// On a disturbed GPU so many pairs are measured at most for each that may count.
constexpr std::size_t kPairsForOne = 3;

std::optional<Outcome> left_running(const TrialTimes& incumbent, const TrialTimes& candidate) {
  const double busy = measure::left_running(incumbent.samples, candidate.samples);
  if (busy <= 0) return std::nullopt;
  candidate::Finding finding;
  finding.kind = "work left running";
  finding.message = fmt::format(
      "after cuco_run and its stream had ended, the GPU was busy for {:.0f} us longer than after "
      "the incumbent",
      busy * 1e6);
  finding.hint = "all work must have ended when the stream that cuco_run was given has";
  return candidate::Findings{{std::move(finding)}, {}};
}

}  // namespace

std::string describe(const MeasuredShape& measured) {
  const PairTimes& times = measured.times;
  std::string dropped;
  if (times.throttled + times.disturbed > 0) {
    dropped = fmt::format(" ({} samples dropped: {} throttled, {} disturbed)",
                          times.throttled + times.disturbed, times.throttled, times.disturbed);
  }
  return fmt::format(
      "{}: {} after {} pairs{}, speedup between {:.3f} and {:.3f} (95 %, at any time)",
      measured.shape,
      times.decision == measure::Decision::Promote ? "faster than the seed"
                                                   : "not shown to be faster",
      times.pairs, dropped, times.speedup.low, times.speedup.high);
}

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
  measure::SampleFilter filter;
  const int most = static_cast<int>(kPairsForOne * rules.maximum_pairs);
  // The first pair warms up: code is compiled and loaded in it.
  for (int i = 0; i < most && test.decision() == measure::Decision::Continue; ++i) {
    std::array<double, 2> seconds{};
    bool good = i > 0;
    for (int turn = 0; turn < 2; ++turn) {
      const bool is_candidate = (turn == 1) != (i % 2 == 1);  // who goes first alternates
      CUCO_TRY_ASSIGN(auto timed, (is_candidate ? second : first).time_one(i));
      if (auto* outcome = std::get_if<Outcome>(&timed)) {
        if (!is_candidate) return failed(*outcome);
        return PairResult(std::move(*outcome));
      }
      seconds[is_candidate ? 1 : 0] = std::get<double>(timed);
      if (i == 0) continue;
      const auto& samples = (is_candidate ? second : first).times().samples;
      good = filter.look_at(samples.back()) == measure::Quality::Good && good;
    }
    if (good) test.add(seconds[0], seconds[1]);
  }
  if (auto outcome = left_running(first.times(), second.times())) {
    return PairResult(*std::move(outcome));
  }
  return PairResult(PairTimes{first.times(), second.times(), test.decision(),
                              test.speedup_interval(), test.pairs(), filter.throttled(),
                              filter.disturbed()});
}

}  // namespace cuco::evaluation
