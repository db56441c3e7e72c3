// SPDX-License-Identifier: Apache-2.0
/// \file
/// CandidateStore: the memory of one run, an append-only sequence of events. Everything a run knows
/// is a fold over it, which is why a run can be killed at any moment and resumed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "candidate/evaluator.h"
#include "candidate/proposer.h"

namespace cuco::candidate {

/// The run's parameters; enough to resume it without asking again.
struct RunStarted {
  std::string workload;  ///< Path as the user gave it.
  std::uint64_t seed = 0;
  std::string target;
  std::string hardware;
  std::string options;  ///< JSON object, owned by the command.
  bool operator==(const RunStarted&) const = default;
};

/// A step of the journey with a result for people ("fast path: analyse").
struct StepDone {
  std::string step;
  bool ok = true;
  std::string detail;
  bool operator==(const StepDone&) const = default;
};

struct Proposed {
  Candidate candidate;
  std::optional<ProposalRejected> rejected;  ///< Why it goes no further; its verdict.
  bool operator==(const Proposed&) const = default;
};

struct Exchanged {
  Number candidate = 0;  ///< The number that this exchange was paid for.
  Exchange exchange;
  bool operator==(const Exchanged&) const = default;
};

struct Evaluated {
  Number candidate = 0;
  Fidelity fidelity = Fidelity::Quick;
  Outcome outcome;
  double wall_seconds = 0;  ///< What the evaluation cost us; not part of the verdict.
  bool operator==(const Evaluated&) const = default;
};

/// The incumbent changed.
struct BestChanged {
  Number candidate = 0;
  double seconds = 0;
  bool operator==(const BestChanged&) const = default;
};

struct RunFinished {
  std::string reason;  ///< "space exhausted", "budget", "interrupted".
  bool operator==(const RunFinished&) const = default;
};

using EventBody =
    std::variant<RunStarted, StepDone, Proposed, Exchanged, Evaluated, BestChanged, RunFinished>;

struct Event {
  std::int64_t sequence = 0;  ///< From 1, without gaps; given by the store.
  std::int64_t time_ms = 0;   ///< Wall clock, since 1970; for people only.
  EventBody body;
  bool operator==(const Event&) const = default;
};

/// A stable word: "run-started", "proposed", …
[[nodiscard]] std::string_view kind(const EventBody& body);

class CandidateStore {
 public:
  virtual ~CandidateStore() = default;

  /// Durable when it returns: a kill -9 or a power cut afterwards does not lose it.
  [[nodiscard]] virtual Result<Event> append(EventBody body) = 0;

  /// All events after `sequence`, in order.
  [[nodiscard]] virtual Result<std::vector<Event>> events(std::int64_t sequence = 0) const = 0;
};

}  // namespace cuco::candidate
