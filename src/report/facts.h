// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a report tells of a run, whatever form it has: page, Markdown or JSON.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "candidate/run_state.h"

namespace cuco::report {

/// The last folder of the path that the run was given, with or without a trailing slash.
[[nodiscard]] std::string workload_name(const candidate::RunState& state);

/// Against the seed on the same shapes. Times themselves are not comparable between candidates:
/// fidelities time different shapes.
[[nodiscard]] std::optional<double> speedup_of(const candidate::Entry& entry);

/// Whether its latest time is of full shapes. A gain on small ones says little beside it.
[[nodiscard]] bool is_on_full_shapes(const candidate::Entry& entry);

/// What was asked for, and of what the answer depends: label and value, those that are known.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> asked(
    const candidate::RunState& state);

/// A step of the way from the seed to a candidate.
struct LineageStep {
  candidate::Number number = candidate::kSeed;
  std::string design;
  std::string because;
  std::string changed;            ///< Which parts of the design, against its parent's.
  std::optional<double> speedup;  ///< Over the seed.
  std::optional<double> gain;     ///< Over its parent; both at their latest verdict.
};
/// From the seed to the candidate.
[[nodiscard]] std::vector<LineageStep> lineage_of(const candidate::RunState& state,
                                                  candidate::Number number);

/// One kind of verdict other than a time.
struct Rejected {
  std::string verdict;  ///< "wrong-result".
  int count = 0;
  candidate::Number example = 0;
  std::string text;  ///< What was wrong with the example.
};
/// The most frequent first.
[[nodiscard]] std::vector<Rejected> rejected(const candidate::RunState& state);

/// A candidate that was timed on the virtual cluster and on hardware.
struct PredictedAndMeasured {
  candidate::Number number = 0;
  candidate::Scored predicted;
  candidate::Scored measured;
};
[[nodiscard]] std::vector<PredictedAndMeasured> predicted_and_measured(
    const candidate::RunState& state);

/// A program that is no candidate of the run, judged as its winner was.
struct Beside {
  std::string name;  ///< Of its file.
  candidate::Outcome outcome;
};
/// "fused_lsa.cu, written by hand: 20.5 us predicted, the winner is 1.03x as fast", or its verdict.
[[nodiscard]] std::string beside_text(const candidate::RunState& state, const Beside& beside);

/// "as a scale model, 1/128; 1/256 takes 4 % more": how a full shape was timed; empty: as it is.
[[nodiscard]] std::string scale_text(const candidate::ShapeTime& shape);

/// What a run's time is the mean of.
inline constexpr std::string_view kMeanOf =
    "One time for several shapes is their geometric mean: of the full shapes where these were "
    "timed, else of all.";

/// From what inputs and schedules were drawn, and against which attacks the judge is tested.
[[nodiscard]] std::string drawn_text(const candidate::RunState& state);

/// What the run itself took: evaluations by fidelity, and the time of the processors for them.
struct Effort {
  int judged = 0;
  double judge_seconds = 0;
  double wall_seconds = 0;  ///< From the first event to the last.
  std::int64_t calls = 0;   ///< Of models.
  std::int64_t tokens = 0;
  double dollars = 0;
  int unpriced = 0;  ///< Calls whose price nobody knows.
};
[[nodiscard]] Effort effort_of(const candidate::RunState& state);

}  // namespace cuco::report
