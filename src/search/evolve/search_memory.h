// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory: all that a search has learnt from what decisions gave, in their order. A fold, like
/// everything that a decision stands on: replaying the decisions gives the same memory.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "candidate/run.h"
#include "search/forecast/design_forecast.h"
#include "search/plans/plan_book.h"
#include "search/policy.h"
#include "search/population/islands.h"
#include "search/race/full_speed.h"
#include "search/selection/bandit.h"

namespace cuco::search {

/// A candidate that failed in a way that one more try may mend.
struct NearMiss {
  candidate::Number number = candidate::kSeed;
  std::size_t island = 0;
  int repairs = 0;     ///< That led to it.
  double promise = 0;  ///< What its parent has reached.
  bool slip = false;   ///< It does not build.
};

/// A decision on its way.
struct Pending {
  Arm arm;
  std::size_t island = 0;
  std::optional<candidate::PlanNumber> follows;  ///< The plan that the walk ended at.
  std::optional<candidate::Plan> made;           ///< A new one, to be stored with what it gave.
  int repairs = 0;                               ///< Including this one.
  double promise = 0;                            ///< What the one to be repaired was made from has.
};

class Memory {
 public:
  /// The run must outlive it. Candidates that it has already are where the islands start.
  Memory(candidate::Run& run,
         candidate::Rung rung,
         const Policy& policy,
         int budget,
         DesignForecast::Prior prior);

  /// Takes over what the run has so far.
  Result<void> start();

  void begin(const Pending& pending, candidate::Number parent);
  /// The decision gave nothing.
  void abandon(const Pending& pending);
  Result<void> see(const Pending& pending, candidate::Number number);
  /// More candidates have been judged at a higher rung.
  void reassess();

  [[nodiscard]] std::optional<NearMiss> take_near_miss();
  [[nodiscard]] bool has_near_miss() const { return !near_misses_.empty(); }
  [[nodiscard]] bool has_slip() const;

  /// Expected speed-up over the seed on full shapes; 0: it is not correct.
  [[nodiscard]] double fitness(candidate::Number number) const;
  [[nodiscard]] int children(candidate::Number number) const;
  [[nodiscard]] std::optional<candidate::PlanNumber> plan_of(candidate::Number number) const;
  /// The newest failure in that region; nothing: there is none.
  [[nodiscard]] std::optional<candidate::Number> failure_in(const Region& region) const;

  Islands islands;
  Bandit bandit;
  PlanBook plans;
  DesignForecast designs;

 private:
  void learn_design(candidate::Number number);
  Result<candidate::PlanNumber> store(candidate::Plan plan);
  [[nodiscard]] std::optional<Member> member(candidate::Number number) const;
  Result<void> take_plan(candidate::Number number, std::optional<candidate::PlanNumber> follows);
  /// What could not be implemented at the first try stays to be tried again.
  Result<void> keep_open(candidate::Plan plan, candidate::Number number);
  void take_failure(candidate::Number number, const Pending& pending);

  candidate::Run& run_;
  candidate::Rung rung_;
  Policy policy_;
  DesignForecast::Prior prior_;
  FullSpeed speed_;
  std::map<candidate::Number, int> children_;
  std::map<candidate::Number, candidate::PlanNumber> plan_of_;
  std::vector<NearMiss> near_misses_;
  std::map<Region, candidate::Number> failures_;
};

}  // namespace cuco::search
