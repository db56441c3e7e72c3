// SPDX-License-Identifier: Apache-2.0
/// \file
/// Proposer: where candidates come from, be it rules, a model or a script; and Advisor.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "candidate/exchange_log.h"
#include "candidate/task.h"

namespace cuco::candidate {

struct Proposal {
  program::Source source;
  design::Directive directive;
  Lineage lineage;
};

/// One program that a proposer can make, before it has made it.
struct Offer {
  design::Directive directive;
  std::string kind;       ///< What else tells it from others of its design.
  double promise = 1;     ///< Speed-up over the seed that its author expects.
  std::string code_hash;  ///< What the candidate will be known by; empty: not known yet.
};

/// A usable proposal, or why the answer was none. Either costs one candidate.
using ProposerAnswer = std::variant<Proposal, ProposalRejected>;

/// Asked from one thread at a time, not always the same one, unless in_flight() says otherwise.
class Proposer {
 public:
  virtual ~Proposer() = default;

  [[nodiscard]] virtual std::string name() const = 0;

  /// Its ideas are a finite list of its own, whatever the task says: all of them are raced before
  /// anybody is asked to go on from one.
  [[nodiscard]] virtual bool enumerates() const { return false; }

  /// That list as far as it can be told before anything but the seed is judged: a task may name one
  /// by its place (Task::offer). The same for the same seed. Empty: it is asked for what comes
  /// next.
  [[nodiscard]] virtual std::vector<Offer> offers(const Judged& /*seed*/) { return {}; }

  /// What it can be asked to do with a parent.
  [[nodiscard]] virtual std::vector<Operation> operations() const {
    return {Operation::Rewrite, Operation::Edit, Operation::Crossover, Operation::Repair,
            Operation::Jump};
  }

  /// How many questions it takes at once.
  [[nodiscard]] virtual int in_flight() const { return 1; }

  /// What it means when it proposes nothing.
  [[nodiscard]] virtual std::string why_nothing() const { return "no more ideas"; }

  /// The next proposal; nothing when it has no more ideas. An Error means that it could not be
  /// asked (no network, deadline); the run tries again, and it costs no candidate.
  [[nodiscard]] virtual Result<std::optional<ProposerAnswer>> propose(const Task& task,
                                                                      ExchangeLog& log) = 0;
};

/// Somebody who is asked for words instead of a candidate: a plan, a diagnosis, shapes.
/// Asked from one thread at a time, not always the same one.
class Advisor {
 public:
  virtual ~Advisor() = default;

  [[nodiscard]] virtual std::string name() const = 0;

  /// Everything that is asked goes through the log, so that it is kept. An Error: nobody could be
  /// asked.
  [[nodiscard]] virtual Result<void> advise(const Task& task, ExchangeLog& log) = 0;
};

}  // namespace cuco::candidate
