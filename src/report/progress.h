// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run as it goes on: a line for each thing that happened, and the same as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "candidate/run_state.h"

namespace cuco::report {

/// Label and text of a line: "fast path", "replace ✓ …".
struct Line {
  std::string label;
  std::string text;
};

/// What a person wants to know of the event; often nothing.
[[nodiscard]] std::vector<Line> describe(const candidate::Event& event,
                                         const candidate::RunState& state);

/// The end of a run in two or three lines; `folder` holds the winner.
[[nodiscard]] std::vector<Line> closing(const candidate::RunState& state,
                                        std::string_view run,
                                        std::string_view folder);

/// One line of JSON: sequence, time, kind and body. Sources are left out, their hash is there.
[[nodiscard]] std::string event_json(const candidate::Event& event);

/// {"result": {speedup, predicted, hardware, directive, code_hash, verdict, …}}. Without a winner
/// the speed-up is 1 and the verdict "no-improvement".
[[nodiscard]] std::string result_json(const candidate::RunState& state,
                                      std::string_view run,
                                      std::string_view folder);

/// What tells a candidate from the others: its design, or what it changes where the design is the
/// seed's.
[[nodiscard]] std::string design_of(const candidate::Entry& entry);

/// The same, with what else tells it from candidates of the same design: "…, sums in two rounds".
[[nodiscard]] std::string told_apart(const candidate::Entry& entry,
                                     const candidate::RunState& state);

/// "318 us predicted 1.57x on small": the latest verdict in one line. Where not all shapes of the
/// seed were timed it says on which.
[[nodiscard]] std::string judged_text(const candidate::Entry& entry,
                                      const candidate::RunState& state);

/// "4 shapes and 2 hidden ones × 20 schedules".
[[nodiscard]] std::string checked_on(const candidate::Scored& scored);

/// "318 us predicted"; measured times stand alone.
[[nodiscard]] std::string time_text(const candidate::Scored& scored);

/// The winner: the best candidate if the highest fidelity accepted it.
[[nodiscard]] const candidate::Entry* winner(const candidate::RunState& state);

}  // namespace cuco::report
