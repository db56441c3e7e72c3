// SPDX-License-Identifier: Apache-2.0
/// \file
/// PlanBook: the plans of a run as a tree, and which of them to follow next.
///
/// A plan hangs below the one whose implementation it goes on from. The walk from the root takes,
/// at each plan, the child or the plan itself with the largest
///
///     Q + c P sqrt(N of the parent) / (1 + N)            (PUCT)
///
/// Q is the mean value of all that was tried there and below, P the share of the expected gain.
/// What is on its way counts as tried with value 0 (virtual loss), so that several decisions in a
/// row do not all follow the same plan.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "candidate/candidate.h"
#include "candidate/plan.h"

namespace cuco::search {

class PlanBook {
 public:
  static constexpr int kMostTries = 3;  ///< Of a plan that has no correct implementation.

  struct Node {
    candidate::Plan plan;
    std::vector<candidate::PlanNumber> children;
    double visits = 0;  ///< Here and below.
    double value = 0;   ///< Sum over these.
    int in_flight = 0;  ///< Here and below.
    int own = 0;        ///< Times that the walk ended here, those on their way included.
    int failed_tries = 0;
    std::optional<candidate::Number> best;    ///< Its fastest correct implementation.
    double speedup = 0;                       ///< Of that one, over the seed.
    std::optional<candidate::Number> failed;  ///< The last implementation that was not correct.
    /// It has no correct implementation, and has not been given up.
    [[nodiscard]] bool is_open() const { return !best && failed_tries < kMostTries; }
  };

  /// What to do: implement the plan, or find one that goes on from it.
  struct Choice {
    candidate::PlanNumber plan = 0;
    bool implement = false;
  };

  /// Numbers are given in order.
  void add(candidate::Plan plan);
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] const Node& operator[](candidate::PlanNumber number) const {
    return nodes_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] const Node* find(const design::Directive& directive) const;

  /// Nothing: there is no plan to follow.
  [[nodiscard]] std::optional<Choice> choose() const;

  /// A decision follows the plan.
  void begin(candidate::PlanNumber plan);
  /// It gave nothing.
  void abandon(candidate::PlanNumber plan);
  /// It gave a candidate, which has this speed-up over the seed; 0: it is not correct.
  void end(candidate::PlanNumber plan, double speedup);
  /// A candidate implements the plan, however it came about.
  void implemented(candidate::PlanNumber plan, candidate::Number number, double speedup);

 private:
  [[nodiscard]] std::optional<Choice> descend(std::optional<candidate::PlanNumber> from) const;
  Node& node(candidate::PlanNumber number) { return nodes_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] const std::vector<candidate::PlanNumber>& children(
      std::optional<candidate::PlanNumber> of) const {
    return of ? (*this)[*of].children : roots_;
  }

  std::vector<Node> nodes_;
  std::vector<candidate::PlanNumber> roots_;
  std::map<design::Directive, candidate::PlanNumber> by_directive_;
};

}  // namespace cuco::search
