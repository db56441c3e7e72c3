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
#include "candidate/exchange_log.h"
#include "candidate/task.h"

namespace cuco::candidate {

/// The run's parameters; enough to resume it without asking again.
struct RunStarted {
  std::string workload;  ///< Path as the user gave it.
  std::uint64_t seed = 0;
  std::string target;
  std::string hardware;
  std::string options;  ///< JSON object, owned by the command.
  /// Decision n sees what decisions up to n - window gave. Part of the run, not of the machine that
  /// works on it: the result does not depend on the number of cores.
  int window = 1;
  Provenance provenance;
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
  Decision decision = -1;                    ///< -1 in runs of older versions.
  bool operator==(const Proposed&) const = default;
};

/// The proposer had no more ideas, or no more budget.
struct Declined {
  Decision decision = 0;
  std::string proposer;
  std::string reason;
  bool operator==(const Declined&) const = default;
};

/// A question is about to be asked. One without its Exchanged was cut off: its tokens count as
/// spent, and it is asked again.
struct Reserved {
  Decision decision = 0;
  std::string question;  ///< hash_of() it.
  std::int64_t tokens = 0;
  double dollars = 0;
  bool operator==(const Reserved&) const = default;
};

struct Exchanged {
  Decision decision = 0;  ///< In runs of older versions the candidate's number, which is the same.
  Exchange exchange;
  bool operator==(const Exchanged&) const = default;
};

struct Evaluated {
  Number candidate = 0;
  Rung rung;
  Outcome outcome;
  double wall_seconds = 0;  ///< What the evaluation cost us; not part of the verdict.
  std::optional<MachineCode> code = std::nullopt;
  std::optional<Number> same_as = std::nullopt;  ///< Whose verdict it is, having the same code.
  bool operator==(const Evaluated&) const = default;
};

/// Work that could not be done, after all tries: an evaluation or, without candidate, a proposal.
struct SetAside {
  Decision decision = 0;
  std::optional<Number> candidate;
  std::string proposer = {};  ///< Who could not be asked; empty in runs of older versions.
  Rung rung;
  int tries = 0;
  std::string reason;
  bool operator==(const SetAside&) const = default;
};

/// A challenger was measured side by side with the incumbent.
struct Compared {
  Number challenger = 0;
  Number incumbent = 0;
  Rung rung;
  Comparison comparison;
  bool operator==(const Compared&) const = default;
};

/// Something to try came up.
struct Planned {
  Plan plan;
  bool operator==(const Planned&) const = default;
};

/// What the run has taught so far, in a few sentences: part of later tasks.
struct Noted {
  std::vector<std::string> notes;
  bool operator==(const Noted&) const = default;
};

/// The incumbent changed.
struct BestChanged {
  Number candidate = 0;
  double seconds = 0;
  bool operator==(const BestChanged&) const = default;
};

struct RunFinished {
  std::string reason;  ///< "no more ideas", "candidate budget used up", …
  /// The same seed gives the same run. Not where a limit of time has decided when to stop.
  bool repeatable = true;
  bool operator==(const RunFinished&) const = default;
};

using EventBody = std::variant<RunStarted,
                               StepDone,
                               Proposed,
                               Declined,
                               Reserved,
                               Exchanged,
                               Evaluated,
                               SetAside,
                               Compared,
                               Planned,
                               Noted,
                               BestChanged,
                               RunFinished>;

struct Event {
  std::int64_t sequence = 0;  ///< From 1, without gaps; given by the store.
  std::int64_t time_ms = 0;   ///< Wall clock, since 1970; for people only.
  EventBody body;
  bool operator==(const Event&) const = default;
};

/// A stable word: "run-started", "proposed", …
[[nodiscard]] std::string_view kind(const EventBody& body);

struct RunSummary;

class CandidateStore {
 public:
  virtual ~CandidateStore() = default;

  /// Durable when it returns: a kill -9 or a power cut afterwards does not lose it.
  [[nodiscard]] virtual Result<Event> append(EventBody body) = 0;

  /// All events after `sequence`, in order.
  [[nodiscard]] virtual Result<std::vector<Event>> events(std::int64_t sequence = 0) const = 0;

  /// What the events add up to for lists and charts, without reading them all where the store can.
  [[nodiscard]] virtual Result<RunSummary> summary() const = 0;
};

}  // namespace cuco::candidate
