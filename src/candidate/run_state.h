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
  Decision decision = 0;
  std::map<Rung, Outcome> outcomes;
  std::map<Rung, SetAside> set_aside;  ///< Evaluations that could not be done.
  std::map<Rung, Number> same_as;      ///< Verdicts that are another's, with the same machine code.
  std::vector<Exchange> exchanges;
  double wall_seconds = 0;

  /// The verdict at the highest rung so far; null before the first one.
  [[nodiscard]] const Outcome* latest() const;
  /// The latest verdict if it is a time.
  [[nodiscard]] const Scored* scored() const;
  /// The same on one target: times of different targets are never compared.
  [[nodiscard]] const Scored* scored(TargetKind target) const;
  /// The latest verdict is none with which it could go on.
  [[nodiscard]] bool turned_down() const { return latest() != nullptr && scored() == nullptr; }
  /// Nobody judged it: its forecast was hopeless.
  [[nodiscard]] bool was_skipped() const {
    return candidate.lineage.forecast && !candidate.lineage.forecast->judged;
  }
};

/// What a decision gave.
struct Decided {
  std::optional<Number> candidate;  ///< Nothing: declined or set aside.
  std::string reason;               ///< Why there is none.
  bool set_aside = false;
  std::string proposer;  ///< Who was asked; empty: not known.
};

struct RunState {
  std::optional<RunStarted> started;
  std::int64_t started_ms = 0;
  std::int64_t last_ms = 0;
  std::vector<StepDone> steps;
  std::vector<Entry> entries;      ///< By candidate number.
  std::vector<Decided> decisions;  ///< By decision; those that have ended, without gaps.
  std::vector<BestChanged> bests;  ///< In order.
  std::optional<Number> best;
  std::vector<Compared> comparisons;
  std::vector<Plan> plans;                      ///< By number.
  std::vector<std::vector<std::string>> notes;  ///< In order; each replaces the one before.
  std::optional<RunFinished> finished;          ///< Cleared when a resumed run goes on.
  /// Answers that were paid for by decisions without a candidate (yet).
  std::map<Decision, std::vector<Exchange>> unused_exchanges;
  std::map<std::string, Reserved> reservations;  ///< By question; not answered (yet).
  std::int64_t calls = 0;                        ///< Questions asked, those cut off included.
  std::int64_t tokens = 0;  ///< Spent, reservations that were cut off included.
  double dollars = 0;       ///< The same, as far as prices are known.

  /// Events that speak of unknown candidates are ignored: they cannot come from our own writer.
  void apply(const Event& event);
};

[[nodiscard]] RunState fold(std::span<const Event> events);

}  // namespace cuco::candidate
