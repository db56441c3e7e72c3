// SPDX-License-Identifier: Apache-2.0
/// \file
/// Strategy: who is asked for what next. It decides from what it was shown and nothing else, so
/// that a run gives the same result whatever the number of cores, and after every kill.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "candidate/proposer.h"

namespace cuco::candidate {

/// History, turn, as_of and seed of the task are filled in by the run.
struct Assignment {
  Proposer* proposer = nullptr;
  Task task;
  /// What is expected of a design, as it was known at this decision; it may say that judging it is
  /// not worth the time. Empty, or nothing: no idea.
  std::function<std::optional<Forecast>(const design::Directive&)> expect = {};
};

/// What a decision gave.
struct Seen {
  Proposer* proposer = nullptr;
  std::optional<Number> candidate;  ///< Nothing: declined or set aside.
  bool set_aside = false;           ///< The proposer could not be asked.
  std::string reason;
  /// Who was asked, where that is stored: in a resumed run it may be another than would be now.
  std::string asked = {};
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  /// The next decision. `unseen` earlier ones are still on their way; each may give a candidate.
  /// Nothing: wait for them, and when there are none, the phase is over.
  [[nodiscard]] virtual std::optional<Assignment> next(int unseen) = 0;

  /// Called for every decision, in their order, with its candidate judged.
  [[nodiscard]] virtual Result<void> see(const Seen& seen) = 0;
};

}  // namespace cuco::candidate
