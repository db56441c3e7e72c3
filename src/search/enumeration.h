// SPDX-License-Identifier: Apache-2.0
/// \file
/// Enumeration: proposers with a finite space of their own are asked for all of it, in turn. Those
/// that can list it are asked for what promises most of the list; when that is used up, and of the
/// others, for what comes next.
///
/// It works in rounds: after each, some candidates get full shapes, and what that shows counts from
/// the next round on.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "search/budget.h"
#include "search/forecast/design_forecast.h"
#include "search/incumbent.h"
#include "search/offers.h"
#include "search/policy.h"
#include "search/race/full_speed.h"
#include "search/roster.h"

namespace cuco::search {

class Enumeration final : public candidate::Strategy {
 public:
  /// All must outlive it. At most `most` candidates come of it. `prior` may be empty.
  Enumeration(candidate::Run& run,
              Roster& roster,
              Spending& spending,
              Incumbent& incumbent,
              int most,
              const Policy& policy,
              DesignForecast::Prior prior);

  std::optional<candidate::Assignment> next(int unseen) override;
  Result<void> see(const candidate::Seen& seen) override;

  /// After a round: takes verdicts of higher rungs over.
  void end_round();
  /// No more rounds; reason() says why.
  [[nodiscard]] bool is_over() const { return over_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::optional<candidate::Assignment> ends(std::string reason);
  [[nodiscard]] std::optional<Offers::Choice> choose(const candidate::Proposer* proposer);
  /// What is known, with what is on its way as it is expected to be.
  [[nodiscard]] DesignForecast believed() const;
  void learn(candidate::Number number);

  candidate::Run& run_;
  Roster& roster_;
  Spending& spending_;
  Incumbent& incumbent_;
  int most_;
  Policy policy_;
  Offers offers_;
  DesignForecast::Prior prior_;
  FullSpeed speed_;
  DesignForecast designs_;
  std::deque<std::optional<design::Directive>> under_way_;  ///< Nothing: not of a list.
  double best_ = 1;  ///< Expected speed-up on full shapes of the fastest.
  int given_ = 0;
  int round_ = 0;
  bool over_ = false;
  std::string reason_;
};

}  // namespace cuco::search
