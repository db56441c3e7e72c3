// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a search may spend, and whether it has.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"

namespace cuco::search {

/// Without a limit of time a search is repeatable: the same seed gives the same run.
struct Budget {
  int candidates = 40;  ///< Including the seed and rejected proposals.
  /// What the run was started with, which its phases are shares of; 0: the same. A resumed run may
  /// get more, and its first decisions have to come out as before.
  int planned = 0;
  std::optional<double> wall_seconds;
};

/// Counts what decisions gave, in their order; what is still on its way counts as spent.
class Spending {
 public:
  Spending(const Budget& budget, const Clock& clock, int candidates)
      : budget_(budget), clock_(&clock), start_(clock.now()), candidates_(candidates) {}

  /// Why no more may be asked; nothing: go on.
  [[nodiscard]] std::optional<std::string> over(int unseen) {
    if (candidates_ + unseen >= budget_.candidates) return "candidate budget used up";
    const auto spent = std::chrono::duration<double>(clock_->now() - start_).count();
    if (!budget_.wall_seconds || spent < *budget_.wall_seconds) return std::nullopt;
    by_time_ = true;
    return "time budget used up";
  }
  void add_candidate() { ++candidates_; }
  /// One that nobody judged and nobody was paid for costs nothing; but they end, too.
  void add_skipped() {
    if (++skipped_ > budget_.candidates) ++candidates_;
  }

  [[nodiscard]] int candidates() const { return candidates_; }
  /// Of what was planned.
  [[nodiscard]] int left() const {
    return (budget_.planned > 0 ? budget_.planned : budget_.candidates) - candidates_;
  }
  /// Time has decided something.
  [[nodiscard]] bool by_time() const { return by_time_; }

 private:
  Budget budget_;
  const Clock* clock_;
  Nanoseconds start_;
  int candidates_;
  int skipped_ = 0;
  bool by_time_ = false;
};

}  // namespace cuco::search
