// SPDX-License-Identifier: Apache-2.0
/// \file
/// RunSummary: what lists and charts show of a run. Small, so that a store can keep it beside the
/// events and give it without reading them; always what the events add up to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "candidate/store.h"

namespace cuco::candidate {

/// A candidate with its verdict at the highest rung so far.
struct CandidateSummary {
  Number number = kSeed;
  std::optional<Number> parent;
  std::string proposer;
  std::string island;
  std::string phase;
  std::string directive;
  std::string because;
  std::string code_hash;
  std::optional<Rung> rung;  ///< Nothing: not judged.
  std::string verdict;       ///< "scored", "wrong-result", …
  std::string text;          ///< The verdict in one line.
  double seconds = 0;        ///< 0 without a time, like the others.
  double baseline_seconds = 0;
  double bound_seconds = 0;
  std::string hardware;
  double wall_seconds = 0;
  bool operator==(const CandidateSummary&) const = default;
};

struct RunSummary {
  std::string workload;
  std::string target;
  std::string hardware;
  std::uint64_t seed = 0;
  std::int64_t started_ms = 0;
  std::int64_t last_ms = 0;
  std::optional<Number> best;
  std::optional<std::string> finished;  ///< Why it ended.
  std::vector<CandidateSummary> candidates;
  bool operator==(const RunSummary&) const = default;
};

/// The columns of a new candidate, its rejection included.
[[nodiscard]] CandidateSummary summary_of(const Proposed& proposed);
/// Takes a verdict over, unless a higher rung has spoken.
void add_verdict(const Evaluated& evaluated, CandidateSummary* candidate);

void apply(const Event& event, RunSummary* summary);
[[nodiscard]] RunSummary summarise(const std::vector<Event>& events);

}  // namespace cuco::candidate
