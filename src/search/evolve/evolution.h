// SPDX-License-Identifier: Apache-2.0
/// \file
/// Evolution: proposers are asked to go on from what there is, first to explore (other designs,
/// crossings), then to exploit (the same designs, better). What each decision is, the policy says.
///
/// It works in rounds: after each, some candidates get full shapes, and what that shows counts from
/// the next round on.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "search/budget.h"
#include "search/evolve/jump.h"
#include "search/evolve/search_memory.h"
#include "search/incumbent.h"
#include "search/roster.h"
#include "search/selection/keyed_rng.h"

namespace cuco::search {

/// What is known before the run.
struct Background {
  std::vector<std::string> notes;  ///< For proposers: part of every task.
  DesignForecast::Prior prior;     ///< What designs have gained elsewhere.
  IsValid is_valid;                ///< Which designs make sense here.
};

class Evolution final : public candidate::Strategy {
 public:
  /// All must outlive it.
  Evolution(candidate::Run& run,
            Roster& roster,
            Spending& spending,
            Incumbent& incumbent,
            const Policy& policy,
            Background background);

  /// Takes over what the run has so far.
  Result<void> start() { return memory_.start(); }

  std::optional<candidate::Assignment> next(int unseen) override;
  Result<void> see(const candidate::Seen& seen) override;

  /// After a round: takes verdicts of higher rungs over, and writes down what was learnt.
  Result<void> end_round();
  /// Decisions of a round, at most.
  [[nodiscard]] int round_size() const { return most_; }
  /// No more rounds; reason() says why.
  [[nodiscard]] bool is_over() const { return over_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] const Memory& memory() const { return memory_; }

 private:
  std::optional<candidate::Assignment> ends(std::string reason);
  void choose_phase();
  [[nodiscard]] std::vector<std::pair<candidate::Proposer*, Arm>> arms() const;
  [[nodiscard]] bool is_possible(candidate::Operation operation) const;
  [[nodiscard]] std::size_t choose(std::span<const std::pair<candidate::Proposer*, Arm>> choices);
  /// Parent and plan of a task whose island and operation are known.
  void aim(candidate::Task* task, Pending* pending);
  void follow_plan(candidate::Task* task, Pending* pending);
  void jump(candidate::Task* task, Pending* pending);
  [[nodiscard]] candidate::Number parent_on(std::size_t island) const;
  void inspire(candidate::Task* task, std::size_t island) const;
  [[nodiscard]] Rng rng(Draw what) const;
  [[nodiscard]] std::function<std::optional<candidate::Forecast>(const design::Directive&)>
  expectation() const;

  candidate::Run& run_;
  Roster& roster_;
  Spending& spending_;
  Incumbent& incumbent_;
  Policy policy_;
  Background background_;
  std::vector<std::string> notes_;
  Memory memory_;
  int explore_;  ///< Candidates before exploitation.
  int most_;     ///< Decisions of a round.
  int given_ = 0;
  int round_ = 0;  ///< Decisions of this round.
  bool exploiting_ = false;
  std::deque<Pending> pending_;        ///< In the order of decisions.
  std::set<design::Directive> jumps_;  ///< That were asked for.
  std::size_t turn_ = 0;
  bool over_ = false;
  std::string reason_;
};

}  // namespace cuco::search
