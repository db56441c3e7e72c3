// SPDX-License-Identifier: Apache-2.0
/// \file
/// RunState: what the events of a run add up to. Resuming, reporting and listing all start from it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "candidate/store.h"

namespace cuco::candidate {

/// What a candidate has to be faster than the seed by: less is not worth another program, and no
/// hardware would show it.
inline constexpr double kLeastSpeedup = 1.005;

/// A candidate with everything that happened to it.
struct Entry {
  Candidate candidate;
  std::map<Fidelity, Outcome> outcomes;
  std::vector<Exchange> exchanges;
  double wall_seconds = 0;

  /// The verdict at the highest fidelity so far; null before the first one.
  [[nodiscard]] const Outcome* latest() const;
  /// The latest verdict if it is a time.
  [[nodiscard]] const Scored* scored() const;
};

struct RunState {
  std::optional<RunStarted> started;
  std::int64_t started_ms = 0;
  std::int64_t last_ms = 0;
  std::vector<StepDone> steps;
  std::vector<Entry> entries;  ///< By candidate number.
  std::optional<Number> best;
  std::optional<RunFinished> finished;  ///< Cleared when a resumed run goes on.
  /// Answers that were paid for and have no candidate yet (the run was killed in between).
  std::map<Number, std::vector<Exchange>> unused_exchanges;

  /// Events that speak of unknown candidates are ignored: they cannot come from our own writer.
  void apply(const Event& event);
};

[[nodiscard]] RunState fold(std::span<const Event> events);

}  // namespace cuco::candidate
